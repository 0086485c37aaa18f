package rank

import "math"

// The parameters of BM25, Lucene's defaults.
const (
	K1 float32 = 1.2  // how fast further occurrences stop counting
	B  float32 = 0.75 // how much the length of the field counts
)

// Field is what ranking has to know of a field in a whole corpus.
type Field struct {
	// Docs is the number of items with at least one term in the field.
	Docs int64
	// Terms is the sum of the lengths over all items: of the words of a text field, of the distinct terms of a keyword
	// or boolean one.
	Terms int64
}

// AverageLength returns the mean length of the items that have the field.
func (f Field) AverageLength() float32 {
	return float32(float64(f.Terms) / float64(f.Docs))
}

// IDF is the weight of a term that docFreq of docs items with the field hold.
func IDF(docFreq, docs int64) float32 {
	return float32(math.Log(1 + (float64(docs-docFreq)+0.5)/(float64(docFreq)+0.5)))
}

// PhraseIDF is the weight of a phrase: the sum over its words, one that is repeated counted as often as it stands there.
func PhraseIDF(docFreqs []int64, docs int64) float32 {
	sum := 0.0
	for _, n := range docFreqs {
		sum += float64(IDF(n, docs))
	}
	return float32(sum)
}

// Norms holds what each length norm contributes to the scores of one field, for one state of the corpus. It is made
// once and shared by all terms of a query.
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

// Score returns the score of an item that holds the term freq times (for a phrase: its frequency) in a field with the
// given norm.
func (s Scorer) Score(freq float32, norm byte) float32 {
	// weight·freq/(freq+k) in the form that Lucene rounds. The conversions keep the compiler from fusing operations,
	// which would round once where Lucene rounds twice.
	damped := 1 + float32(freq*s.norms.inverse[norm])
	return s.weight - float32(s.weight/damped)
}

// Most returns a score that no frequency and no length gives more than.
func (s Scorer) Most() float32 { return max(s.weight, 0) }
