package segment

// NextMany reads several documents at once. It fills docs with documents and freqs with their frequencies, and returns the number of
// documents, which is 0 at the end. Afterwards, the iterator is at the last document that was read. freqs must be at least as long as
// docs.
func (i *Iterator) NextMany(docs, freqs []uint32) int {
	if i.many == nil {
		n := 0
		for n < len(docs) {
			doc, ok := i.Next()
			if !ok {
				break
			}
			docs[n], freqs[n] = doc, i.freq
			n++
		}
		return n
	}
	n := copy(docs, i.chunk)
	i.chunk = i.chunk[n:]
	if n == 0 {
		n = i.more(docs)
	}
	if n == 0 {
		return 0
	}
	i.doc, i.started = uint64(docs[n-1]), true
	freqs = freqs[:n]
	if !i.p.text {
		for j := range freqs {
			freqs[j] = 1
		}
		i.freq = 1
		return n
	}
	passed := uint64(i.freq)
	rest := i.freqs
	for j := range freqs {
		if len(rest) > 0 && rest[0] < 0x80 {
			freqs[j] = uint32(rest[0])
			rest = rest[1:]
		} else {
			freq, after, ok := uvarint(rest)
			if !ok {
				freq = 0
			}
			freqs[j], rest = uint32(freq), after
		}
		passed += uint64(freqs[j])
	}
	i.freqs, i.freq = rest, freqs[n-1]
	i.pending += passed - uint64(i.freq)
	return n
}
