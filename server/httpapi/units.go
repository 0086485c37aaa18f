package httpapi

import (
	"errors"
	"strconv"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
)

// listUnits answers GET /v1/activate_units/ (specification, Conversion units) with all units, including archived ones.
func (s *Server) listUnits(x *exchange) error {
	units, err := s.lib.Units(x.grant.property)
	if err != nil {
		return err
	}
	body := append([]byte(`{"total_results":`), strconv.Itoa(len(units))...)
	body = append(body, `,"_embedded":{"activate_unit:item":[`...)
	for i, u := range units {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, item.EncodeUnit(u)...)
	}
	here := x.linkHere()
	body = links{self: here, first: here}.append(append(body, `]},"_links":`...))
	return x.show(append(body, '}'))
}

// showUnit answers GET /v1/activate_units/{id} with an array of one unit, as in the sample of the specification.
func (s *Server) showUnit(x *exchange) error {
	u, err := s.lib.Unit(x.grant.property, x.pathID("id"))
	if errors.Is(err, library.ErrNotFound) {
		return absent("no conversion unit of this property has this id")
	}
	if err != nil {
		return err
	}
	return x.show(append(append([]byte{'['}, item.EncodeUnit(u)...), ']'))
}
