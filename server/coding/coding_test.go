package coding

import (
	"net/http"
	"testing"
)

// TestGzip checks the forms of RFC 9110, 12.5.3, and others.
func TestGzip(t *testing.T) {
	for accept, want := range map[string]bool{
		// The examples of the RFC.
		"compress, gzip":                     true,
		"":                                   false,
		"*":                                  true,
		"compress;q=0.5, gzip;q=1.0":         true,
		"gzip;q=1.0, identity; q=0.5, *;q=0": true,

		"gzip": true, "GZIP": true, "x-gzip": true, "X-GZip;Q=0.5": true, "gzipped": false, "br": false, "identity": false,
		"deflate, gzip;q=0.5, br": true, " , gzip ,": true, "br;q=1.0, gzip;q=0.8, *;q=0.1": true, "gzip; q = 0.5": true, "gzip;level=9": true,

		"gzip;q=0": false, "gzip; q=0.000": false, "gzip;q=0.001": true, "gzip;q=1.000": true,
		"gzip;q=nonsense": false, "gzip;q=": false, "gzip;q=-1": false, "gzip;q=2": false, "gzip;q=NaN": false, "gzip;q=Inf": false,

		"*;q=0": false, "*;q=0.5": true, "gzip;q=0, *": false, "*, gzip;q=0": false, "*;q=0, gzip": true, "gzip, *;q=0": true,

		"identity;q=1, gzip;q=0.5": false, "gzip;q=0.5, identity": false, "identity;q=0.5, gzip;q=1": true, "identity;q=0.8, gzip;q=0.9": true,
		"identity, gzip": true, "gzip;q=0.5, identity;q=0.5": true, "identity;q=0, gzip;q=0.1": true, "identity;q=0": false, "identity;q=0, *": true,
		"gzip;q=0.5, *": false, "gzip;q=0.5, *;q=0.5": true, "identity;q=0.5, *": true, "*;q=0.5, identity": false,
	} {
		h := http.Header{}
		h.Set("Accept-Encoding", accept)
		if got := Gzip(h); got != want {
			t.Errorf("Accept-Encoding %q: gzip %v, want %v", accept, got, want)
		}
	}
	if Gzip(http.Header{}) {
		t.Error("gzip without Accept-Encoding")
	}
	if Gzip(http.Header{"Accept-Encoding": {"gzip;q=0.5", "identity"}}) {
		t.Error("gzip although another line prefers identity")
	}
}
