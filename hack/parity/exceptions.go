package main

// exception is a difference that is known and has its row in docs/query-language.md, under the same name.
type exception struct {
	name, reason string
	// applies reports whether the difference may show in the answer to a query.
	applies func(text string) bool
}

// exceptions lists all of them. There may be five.
func exceptions() []exception {
	return nil
}

// excepted returns the name of the exception that covers a query, "" for none.
func excepted(text string) string {
	for _, e := range exceptions() {
		if e.applies(text) {
			return e.name
		}
	}
	return ""
}
