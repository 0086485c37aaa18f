// Shows an explanation from the server as a tree.

import { h } from './dom.js';

/** @typedef {{clause: string, occur: string, matched: boolean, score: number, detail: string, children: Explanation[]}} Explanation */

/**
 * @param {{matched: boolean, explanation: Explanation}} answer
 */
export function explanationTree({ matched, explanation }) {
  return h('div', { class: 'explanation' },
    h('p', { class: matched ? 'verdict in' : 'verdict out' }, matched ? 'The item is in the result.' : 'The item is not in the result.'),
    h('ul', null, clause(explanation)));
}

/** @param {Explanation} e @returns {HTMLElement} */
function clause(e) {
  // A "must not" clause excludes the items that it matches.
  const good = e.occur === 'must not' ? !e.matched : e.matched;
  const optional = e.occur === 'should' && !e.matched;
  const kind = optional ? 'optional' : good ? 'good' : 'bad';
  return h('li', { class: kind },
    h('div', { class: 'clause' },
      h('span', { class: 'sign', 'aria-hidden': 'true' }, optional ? '·' : good ? '✓' : '✕'),
      h('span', { class: 'hidden' }, e.matched ? 'matches: ' : 'does not match: '),
      e.occur && h('span', { class: 'occur' }, e.occur),
      h('code', null, h('bdi', null, e.clause)),
      e.score > 0 && h('span', { class: 'score' }, `score ${Number(e.score.toPrecision(3))}`)),
    e.detail && h('div', { class: 'detail' }, h('bdi', null, e.detail)),
    e.children?.length > 0 && h('ul', null, e.children.map(clause)));
}
