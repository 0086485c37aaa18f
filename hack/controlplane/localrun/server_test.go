package main

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestChooseAddress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "address")
	first, err := chooseAddress(file, 0)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := chooseAddress(file, 0); err != nil || again != first {
		t.Errorf("%s (%v) after %s, want the same", again, err, first)
	}
	taken, err := net.Listen("tcp", first)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	other, err := chooseAddress(file, 0)
	if err != nil || other == first {
		t.Errorf("chose %s (%v), which is taken", other, err)
	}
	if again, err := chooseAddress(file, 0); err != nil || again != other {
		t.Errorf("%s (%v) after %s, want the same", again, err, other)
	}
	_, busy, err := net.SplitHostPort(first)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseUint(busy, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := chooseAddress(file, uint(port)); err == nil || !strings.Contains(err.Error(), "cannot listen on port "+busy+" of this machine: stop the program that uses it") {
		t.Errorf("%s, %v for a port that is taken", got, err)
	}
	taken.Close()
	if got, err := chooseAddress(file, uint(port)); got != first || err != nil {
		t.Errorf("%s, %v, want the chosen port of %s", got, err, first)
	}
	if again, err := chooseAddress(file, 0); again != first || err != nil {
		t.Errorf("%s, %v after the run with a chosen port, want %s", again, err, first)
	}
}
