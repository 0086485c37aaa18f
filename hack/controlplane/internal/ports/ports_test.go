package ports

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestChoose(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "ports.json")
	first, err := Choose(t.Context(), file, map[string]int{"a": 0, "b": 0})
	if err != nil {
		t.Fatal(err)
	}
	if first["a"] == 0 || first["a"] == first["b"] {
		t.Fatalf("chose %v, want two ports", first)
	}

	again, err := Choose(t.Context(), file, map[string]int{"a": 0, "b": 0})
	if err != nil {
		t.Fatal(err)
	}
	if again["a"] != first["a"] || again["b"] != first["b"] {
		t.Errorf("chose %v, want those remembered, %v", again, first)
	}

	taken, err := net.Listen("tcp", Address(first["a"]))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	other, err := Choose(t.Context(), file, map[string]int{"a": 0, "b": 0})
	if err != nil {
		t.Fatal(err)
	}
	if other["a"] == first["a"] {
		t.Errorf("chose port %d, which is taken", other["a"])
	}
	if other["b"] != first["b"] {
		t.Errorf("forgot port %d of b", first["b"])
	}
}

func TestChoosePrefers(t *testing.T) {
	l, err := net.Listen("tcp", Address(0))
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().(*net.TCPAddr).Port
	l.Close()
	file := filepath.Join(t.TempDir(), "ports.json")
	if err := os.WriteFile(file, []byte("not JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	chosen, err := Choose(t.Context(), file, map[string]int{"a": free})
	if err != nil {
		t.Fatal(err)
	}
	if chosen["a"] != free {
		t.Errorf("chose %d, want the preferred %d", chosen["a"], free)
	}
}
