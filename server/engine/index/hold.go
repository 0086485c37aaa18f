package index

// Hold takes a further reference to a snapshot of which the caller has one. It has to be released too.
func (s *Snapshot) Hold() { s.refs.Add(1) }
