package loopback

import "testing"

func TestFree(t *testing.T) {
	free, err := Free(2)
	if err != nil || free[0] == free[1] {
		t.Errorf("Free = %v, %v, want two", free, err)
	}
}
