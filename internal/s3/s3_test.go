package s3

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPartSize(t *testing.T) {
	for most, want := range map[int64]uint64{
		0: 16 << 20, 1 << 20: 16 << 20, 10_000 * 16 << 20: 16 << 20, 10_000*16<<20 + 1: 17 << 20, 1 << 40: 105 << 20,
	} {
		if got := partSize(most); got != want || int64(got)*mostParts < most {
			t.Errorf("%d bytes: parts of %d bytes, want %d", most, got, want)
		}
	}
}

// TestOpen checks which settings Open rejects, and that no error contains a credential.
func TestOpen(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "reader")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
	noCertificate := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(noCertificate, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for about, c := range map[string]struct {
		options Options
		says    string // "" means that it is accepted
	}{
		"AWS":                 {Options{Addressing: Auto}, ""},
		"another store":       {Options{Endpoint: "https://s3.example:9000/", Addressing: Path}, ""},
		"HTTP on loopback":    {Options{Endpoint: "http://127.0.0.1:9000", Addressing: Auto}, ""},
		"HTTP":                {Options{Endpoint: "http://s3.example", Addressing: Auto}, "must begin with https://"},
		"accepted HTTP":       {Options{Endpoint: "http://s3.example", Addressing: Auto, AllowHTTP: true}, ""},
		"no URL":              {Options{Endpoint: "s3.example:9000", Addressing: Auto}, "must be a URL"},
		"a path":              {Options{Endpoint: "https://s3.example/bucket", Addressing: Auto}, "without a path"},
		"credentials":         {Options{Endpoint: "https://reader:a-secret@s3.example", Addressing: Auto}, "without credentials"},
		"broken credentials":  {Options{Endpoint: "https://reader:a-secret@s3.example:x", Addressing: Auto}, "without credentials"},
		"unknown addressing":  {Options{Addressing: "dns"}, "use auto, path or virtual"},
		"a missing CA file":   {Options{Addressing: Auto, CAFile: noCertificate + "x"}, "no such file"},
		"a CA file with text": {Options{Addressing: Auto, CAFile: noCertificate}, "contains no PEM certificate"},
	} {
		switch _, err := Open("backups", c.options); {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", about, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "a-secret")):
			t.Errorf("%s: want an error that says %q, got %v", about, c.says, err)
		}
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, err := Open("backups", Options{Addressing: Auto}); !errors.Is(err, ErrNoCredentials) {
		t.Errorf("without credentials: %v", err)
	}
}
