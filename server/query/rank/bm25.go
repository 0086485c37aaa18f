package rank

import "math"

// These are the parameters of BM25, with Lucene's defaults.
const (
	K1 float32 = 1.2  // how quickly additional occurrences saturate
	B  float32 = 0.75 // how much the length of the field counts
)

// Field contains the statistics of a field in the whole corpus.
type Field struct {
	// Docs is the number of items with at least one term in the field.
	Docs int64
	// Terms is the sum of the lengths of the field in all items. The length of a text field is its number of words. The length of a keyword
	// or boolean field is its number of distinct terms.
	Terms int64
}

// AverageLength returns the average length of the field in the items that have it.
func (f Field) AverageLength() float32 {
	return float32(float64(f.Terms) / float64(f.Docs))
}

// IDF returns the inverse document frequency of a term. docs is the number of items that have the field, and docFreq is the number of those
// that contain the term.
func IDF(docFreq, docs int64) float32 {
	return float32(math.Log(1 + (float64(docs-docFreq)+0.5)/(float64(docFreq)+0.5)))
}

// PhraseIDF returns the weight of a phrase: the sum of the IDFs of its words. Repeated words count each time.
func PhraseIDF(docFreqs []int64, docs int64) float32 {
	sum := 0.0
	for _, n := range docFreqs {
		sum += float64(IDF(n, docs))
	}
	return float32(sum)
}

// Norms is a table of the contributions of length norms to the scores of one field, for one state of the corpus. All terms of a query share
// it.
type Norms struct {
	inverse [256]float32
}

// NewNorms computes the table for a field.
func NewNorms(f Field) *Norms {
	n := &Norms{}
	average := f.AverageLength()
	for i := range n.inverse {
		length := float32(DecodeLength(byte(i)))
		n.inverse[i] = 1 / float32(K1*((1-B)+float32(float32(B*length)/average)))
	}
	return n
}

// Scorer scores one term or phrase of one field.
type Scorer struct {
	norms  *Norms
	weight float32
}

// NewScorer returns the scorer of a term or phrase with the given boost and IDF or PhraseIDF.
func NewScorer(norms *Norms, boost, idf float32) Scorer {
	return Scorer{norms: norms, weight: boost * idf}
}

// Score returns the score of an item. freq is the frequency of the term or phrase in the field, and norm is the norm of the field.
func (s Scorer) Score(freq float32, norm byte) float32 {
	// Compute weight·freq/(freq+k) in the same form as Lucene, because of the rounding. The conversions prevent the compiler from fusing
	// operations, which would round once where Lucene rounds twice.
	damped := 1 + float32(freq*s.norms.inverse[norm])
	return s.weight - float32(s.weight/damped)
}

// Most returns an upper bound of the score, valid for any frequency and length.
func (s Scorer) Most() float32 { return max(s.weight, 0) }
