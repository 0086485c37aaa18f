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
	i.doc = uint64(docs[n-1])
	passed := uint64(i.freq) + i.freqs.read(freqs[:n])
	i.freq = freqs[n-1]
	i.pending += passed - uint64(i.freq)
	return n
}
