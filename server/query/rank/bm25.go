package rank

import "math"

// Parameters of BM25, with the default values of Lucene.
const (
	K1 float32 = 1.2  // controls how quickly further occurrences of a term stop adding to the score
	B  float32 = 0.75 // controls how much the length of the field lowers the score
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

// IDF returns the inverse document frequency of a term. docs is the number of items that have the field, and docFreq is the number of items
// whose field contains the term.
func IDF(docFreq, docs int64) float32 {
	return float32(math.Log(1 + (float64(docs-docFreq)+0.5)/(float64(docFreq)+0.5)))
}

// PhraseIDF returns the weight of a phrase: the sum of the IDFs of its words. A repeated word counts each time.
func PhraseIDF(docFreqs []int64, docs int64) float32 {
	sum := 0.0
	for _, n := range docFreqs {
		sum += float64(IDF(n, docs))
	}
	return float32(sum)
}

// Norms contains, for each length norm, a factor in the scores of one field. It is valid for one state of the corpus, and all terms of a
// query on that field share it.
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

// NewScorer returns the scorer of a term or phrase. idf is the IDF of the term or the PhraseIDF of the phrase.
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

// Most returns an upper bound of the score for any frequency and any norm.
func (s Scorer) Most() float32 { return max(s.weight, 0) }
