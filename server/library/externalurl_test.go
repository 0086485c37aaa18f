package library

import "testing"

func TestCheckExternalURL(t *testing.T) {
	for address, ok := range map[string]bool{
		"":                                   true,
		"https://content.shop.example":       true,
		"https://content.shop.example/":      true,
		"https://content.shop.example/base/": true,
		"https://c.example/v1.2/a_b~c-d":     true,
		"http://localhost:8080":              true,
		"http://127.0.0.1:8080/x":            true,
		"https://[2001:db8::1]:8443/x":       true,
		"https://xn--bcher-kva.example":      true,
		"https://c.example:1":                true,
		"https://c.example:65535/x":          true,

		"https://c.example:0":           false,
		"https://c.example:65536":       false,
		"https://c.example:99999/x":     false,
		"content.shop.example":          false,
		"/base":                         false,
		"ftp://content.shop.example":    false,
		"https://":                      false,
		"https:///base":                 false,
		"https://c.example?a=b":         false,
		"https://c.example#a":           false,
		"https://c.example/a b":         false,
		"https://c.example/%2e%2e":      false,
		"https://user:secret@c.example": false,
		`https://c.example/"><script>`:  false,
		"https://c.example/..":          false,
		"https://c.example/./x":         false,
		"https://c.example/../../x":     false,
		"https://c.example//x":          false,
		"https://c.example:port":        false,
		"https://bücher.example":        false,
		"https://c.example/\n":          false,
		"https://c.example\n":           false,
	} {
		switch err := CheckExternalURL(address); {
		case ok && err != nil:
			t.Errorf("%q: %v", address, err)
		case !ok && err == nil:
			t.Errorf("%q is accepted", address)
		}
	}
}
