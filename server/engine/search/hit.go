package search

// Hit is a live document that a query found.
type Hit struct {
	// Part is the index of the part in Corpus.Parts.
	Part  int
	Doc   uint32
	Score float32
}
