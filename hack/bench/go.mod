module github.com/vitrine-dev/vitrine/hack/bench

go 1.26.0

require github.com/vitrine-dev/vitrine v0.0.0

replace github.com/vitrine-dev/vitrine => ../..
