// Package counts keeps the counts in status close to the content: it counts the items of filters, rules and properties, decides
// which difference is worth a write, and limits how much counting and writing cost.
//
// It may import api and the domain.
package counts
