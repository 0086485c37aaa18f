// The page with the status of the property and of the server.

import { button, fill, h } from './dom.js';
import { propertyStatus, rejectionList } from './rejected.js';
import { badge, bytes, date, empty, failure, number, skeleton } from './ui.js';

/** @param {import('./shell.js').Context} context @returns {import('./shell.js').Page} */
export function statusPage({ session }) {
  const body = h('div', null, skeleton(6));

  async function load() {
    try {
      show(await propertyStatus(true));
    } catch (err) {
      fill(body, failure(err, () => void load()));
    }
  }

  /** @param {any} data */
  function show(data) {
    /** @type {import('./rejected.js').Rejection[] | undefined} undefined if the server does not know the objects of the cluster */
    const rejected = data.rejected;
    const tokens = data.tokens ?? [];
    const { filters, tags, units } = data.definitions ?? {};
    fill(body,
      h('dl', { class: 'figures' }, [
        ['Items', data.items], ['Filters', filters], ['Tags in manifests', tags], ['Conversion units', units], ['Access tokens', tokens.length],
        ['Store (whole server)', data.store_bytes, bytes], ['Memory (whole server)', data.memory_bytes, bytes],
      ].filter(([, value]) => typeof value === 'number').map(([name, value, format]) => h('div', null, h('dt', null, name), h('dd', null, (format ?? number)(value))))),
      rejected && rejectionList(rejected),
      h('section', { class: 'block' }, h('h2', null, 'Access tokens'),
        tokens.length === 0 ? empty('There are no tokens', 'Apply an AccessToken manifest.')
          : h('div', { class: 'tablewrap', tabindex: '0', role: 'region', 'aria-label': 'Access tokens' }, h('table', null,
            h('thead', null, h('tr', null, ['Name', 'Class', 'Expires'].map((t) => h('th', { scope: 'col' }, t)))),
            h('tbody', null, tokens.map((/** @type {any} */ t) => h('tr', null, h('td', null, h('bdi', null, `${t.namespace}/${t.name}`)), h('td', null, h('div', { class: 'chips' }, badge('plain', String(t.class)), t.filters_only && badge('plain', 'certain filters only'), t.allow && badge('plain', `only ${t.allow.join(', ') || 'reads'}`)),
              t.query && h('div', { class: 'small' }, 'only items that match ', h('code', null, h('bdi', null, String(t.query)))),
              t.query_hidden && h('div', { class: 'small' }, 'only items that match a query with private fields')), h('td', null, t.expires ? date(t.expires) : 'never'))))))),
      h('p', { class: 'muted' }, `Property ${data.property}. `, data.version && `Server version ${data.version}. `,
        `Your session allows ${session.actions.join(', ') || 'only reads'}. `, session.expires && `Your session ends no later than ${date(session.expires)}.`));
  }

  return {
    element: h('div', { class: 'page status' }, h('div', { class: 'pagehead' }, h('h1', { tabindex: '-1' }, 'Status'), h('span', { class: 'spacer' }), button({ text: 'Refresh', onclick: () => void load() })), body),
    title: 'Status', started: load, shortcuts: [{ keys: 'u', text: 'Refresh', run: () => void load() }],
  };
}
