// Package counts keeps the item counts in the statuses of objects approximately current. It counts the items of filters, rules and
// properties, decides which differences are worth a write, and limits the cost of counting and writing.
//
// This package may import api and the domain.
package counts
