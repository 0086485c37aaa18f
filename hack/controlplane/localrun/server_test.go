package main

import (
	"net"
	"path/filepath"
	"testing"
)

func TestRememberedAddress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "address")
	first, err := rememberedAddress(file)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := rememberedAddress(file); err != nil || again != first {
		t.Errorf("%s (%v) after %s, want the same", again, err, first)
	}
	taken, err := net.Listen("tcp", first)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	other, err := rememberedAddress(file)
	if err != nil || other == first {
		t.Errorf("chose %s (%v), which is taken", other, err)
	}
	if again, err := rememberedAddress(file); err != nil || again != other {
		t.Errorf("%s (%v) after %s, want the same", again, err, other)
	}
}
