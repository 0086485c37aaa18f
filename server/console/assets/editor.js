// The editor of a filter. It compares a draft with the served filter, and exports the draft as a manifest. It saves nothing, because Git
// stays the source of truth.

import { change, get, may, Problem } from './api.js';
import { discardDraft, saveDraft } from './drafts.js';
import { button, fill, h, labelled, select } from './dom.js';
import { tileContent } from './item.js';
import { hiddenFilter, ownerOf } from './filter.js';
import { changedManifest, download, filterManifest, objectName, proposeLink, yaml } from './manifest.js';
import { orderControl } from './order.js';
import { QueryBar } from './querybar.js';
import { go, href, parameters, setParameters } from './router.js';
import { copy, count, empty, failure, number, refusal, skeleton, tabs, toast, toastError } from './ui.js';

/** The number of items of each kind that the comparison shows. */
const shown = 24;

/** @param {import('./shell.js').Context} context @returns {import('./shell.js').Page} */
export function editorPage({ session }) {
  const params = parameters();
  const from = params.get('from') ?? '';
  /** @type {Record<string, any> | null} */
  let served = null;
  /** The manifest of the filter and its file, or the reason why they are unknown. @type {{manifest?: import('./manifest.js').Manifest, source_path?: string, reason?: string}} */
  let declared = {};
  const draft = {
    name: params.get('name') ?? '', q: params.get('q') ?? '', sort_by: params.get('sort_by') ?? '', favorite_tag: params.get('favorite_tag') ?? '',
    read: params.get('read') ?? '',
  };
  /** The fields of the filter that the draft leaves empty. The URL has no parameters for empty values. */
  const cleared = (params.get('without') ?? '').split(',');
  const id = params.get('draft') || crypto.randomUUID();
  /** @type {AbortController | null} */
  let request = null;

  const name = h('input', { type: 'text', value: draft.name, maxlength: '200', placeholder: 'Summer wall', oninput: () => edit({ name: name.value }, true) });
  const bar = new QueryBar({ value: draft.q, label: 'Query', placeholder: 'approval_status:app AND …', order: () => draft.sort_by, changed: (q) => edit({ q }) });
  const order = orderControl({ value: draft.sort_by, standard: 'Newest first', private: may(session, 'ReadPrivate'), changed: (sort_by) => { edit({ sort_by }); bar.validate(); } });
  const favorite = h('input', { type: 'text', value: draft.favorite_tag, placeholder: 'namespace:key', spellcheck: 'false', onchange: () => edit({ favorite_tag: favorite.value.trim() }) });
  const access = select([['', 'READ-WRITE tokens'], ['ReadOnly', 'READ-ONLY tokens too']], draft.read, (read) => edit({ read }, true));
  const asNew = h('input', { type: 'checkbox', onchange: () => refresh() });
  const asNewChoice = h('label', { class: 'check', hidden: true }, asNew, h('span', null, 'Export as a new filter'));
  const advice = h('p', { class: 'muted' });
  const httpButton = button({ text: 'Create over HTTP', kind: 'quiet', title: 'Creates the filter now, without a manifest', onclick: create });
  const httpReason = h('span', { class: 'muted', hidden: true }, 'Not possible: a filter that is created over HTTP has no favorite tag, and READ-ONLY tokens cannot read it.');
  // Until the served filter has loaded, the link would not know the file of its manifest.
  const propose = h('span', { hidden: Boolean(from) }, proposeLink(() => ({ name: object(), text: text(), exists: replaces(), file: replaces() ? declared.source_path : '' })));
  const httpPart = h('div', { class: 'row' }, httpReason, httpButton);
  const heading = h('h1', { tabindex: '-1' }, from ? 'Propose a change' : 'New filter');
  const source = h('p', null, from ? skeletonLine() : 'Write a query, see which items it selects, and export the filter as a manifest for a pull request.');
  const result = h('div', null);
  const shownManifest = h('pre', { class: 'code', tabindex: '0' });
  const views = tabs('Result', [
    { id: 'compare', text: from ? 'Comparison' : 'Items', render: () => result },
    { id: 'manifest', text: 'Manifest', render: manifestView },
  ], params.get('tab') ?? 'compare', (tab) => setParameters({ tab: tab === 'compare' ? '' : tab }, true));

  /** Returns the name of the object in the manifest: the object that declares the filter, or a new object. */
  function object() {
    const [kind, path] = String(served?.managed_by ?? '').split(' ');
    const replaced = kind === 'ContentFilter' ? path?.split('/')[1] : '';
    if (replaced && !asNew.checked) return replaced;
    const name = objectName('filter', draft.name, bar.value);
    return name === replaced ? `${name.slice(0, 58)}-copy` : name;
  }

  /**
   * Returns the parameters that open the draft in another browser: the values that differ from those of the filter.
   * @returns {Record<string, string>}
   */
  function changes() {
    const old = servedValues();
    const changed = Object.entries(draft).filter(([field, value]) => !served || value !== old[field]);
    return { from, ...Object.fromEntries(changed), without: served ? changed.filter(([, value]) => value === '').map(([field]) => field).join(',') : '' };
  }

  /** Returns the values of the filter. @returns {Record<string, string>} */
  function servedValues() {
    return {
      name: String(served?.name ?? ''), q: String(served?.query ?? ''), sort_by: String(served?.sort_by ?? ''), favorite_tag: served?.favorite_tag ?? '',
      read: served?.read_access === 'ReadOnly' ? 'ReadOnly' : '',
    };
  }

  /** Whether the manifest replaces that of the filter. */
  function replaces() {
    return Boolean(served?.managed_by) && !asNew.checked;
  }

  /** Returns the ID of the filter that the manifest adopts, because the filter was created over HTTP. */
  function adopted() {
    return served && !served.managed_by && !asNew.checked ? Number(served.id) : undefined;
  }

  /** Shows the draft as a manifest, and the actions for it. */
  function refresh() {
    fill(shownManifest, h('code', null, text()));
    asNewChoice.hidden = !served;
    fill(advice, !served || asNew.checked ? 'Add the manifest to your repository, and open a pull request.'
      : adopted() ? 'Add the manifest to your repository, and open a pull request. The manifest adopts the filter, which keeps its ID and its URL.'
      : declared.manifest ? 'This is the manifest of the object, with the fields of spec that you changed. Copy it, or only its spec, into your repository, and open a pull request. It has no comments, because the cluster does not store them: keep those of your file.'
      : `Copy the fields of spec that you changed into the manifest in your repository, and open a pull request. Do not replace the whole manifest: the console does not know its labels, its annotations, and the fields adopt and suspend. The reason: ${declared.reason}`);
    httpPart.hidden = adopted() !== undefined;
    httpButton.disabled = draft.favorite_tag !== '' || draft.read !== '';
    httpReason.hidden = !httpButton.disabled;
  }

  function spec() {
    return { object: object(), name: draft.name, query: bar.value, sortBy: draft.sort_by, favoriteTag: draft.favorite_tag, readOnly: draft.read === 'ReadOnly', adopt: adopted() };
  }

  /** Returns the manifest of the draft. */
  function text() {
    return yaml(declared.manifest && replaces() ? changedManifest(declared.manifest, spec()) : filterManifest(spec(), session.property));
  }

  function manifestView() {
    refresh();
    return h('div', null,
      advice, asNewChoice,
      h('div', { class: 'row' }, button({ icon: 'copy', text: 'Copy the manifest', kind: 'primary', onclick: () => void copy(text(), 'the manifest') }),
        button({ icon: 'download', text: 'Download', onclick: () => download(`${object()}.yaml`, text()) }),
        propose,
        h('span', { class: 'spacer' }),
        may(session, 'ManageFilters') && httpPart),
      shownManifest);
  }

  async function create() {
    try {
      const { data, etag } = await change('POST', 'v2/content/filters', { name: draft.name || undefined, q: bar.value, sort_by: draft.sort_by || 'created_on:desc' });
      toast('Created the filter', { action: { text: 'Undo', run: () => change('DELETE', `v2/content/filters/${data.id}`, undefined, etag).then(() => go(href('filters')), toastError) } });
      discardDraft(id);
      go(href('wall', { filter: data.filter_uuid }));
    } catch (err) {
      toastError(err);
    }
  }

  /**
   * @param {Partial<typeof draft>} values
   * @param {boolean} [same] whether the edit changes neither the items nor their order
   */
  function edit(values, same) {
    Object.assign(draft, values);
    setParameters({ name: '', q: '', sort_by: '', favorite_tag: '', read: '', ...changes(), draft: id }, true);
    saveDraft({ id, property: session.property, title: draft.name || draft.q || 'Without a query', values: changes(), changed: new Date().toISOString() });
    refresh();
    if (!same) void compare();
  }

  async function compare() {
    request?.abort();
    request = new AbortController();
    const { signal } = request;
    if (bar.value === '') {
      fill(bar.status);
      fill(result, empty('Write a query', 'The items that it selects appear here.'));
      return;
    }
    result.classList.add('loading');
    try {
      const { data } = await get('v2/content/compare', {
        from_filter: from, q: bar.value, sort_by: draft.sort_by, favorite_tag: draft.favorite_tag, size: shown,
      }, signal);
      fill(bar.status, count(data.after.total, 'item'));
      fill(result, comparison(data));
    } catch (err) {
      if (signal.aborted) return;
      if (err instanceof Problem && bar.showProblem(err)) {
        fill(bar.status);
        return;
      }
      fill(result, failure(err, () => void compare()));
    } finally {
      result.classList.remove('loading');
    }
  }

  /** @param {any} data */
  function comparison(data) {
    if (!data.before) return h('div', null, data.after.total === 0 ? empty('No item matches', 'Use fewer clauses.') : group('Items', data.entering, ''));
    const later = `after ${data.moving.compared}`;
    const same = data.entering.total + data.leaving.total + data.moving.total === 0;
    return h('div', null,
      h('dl', { class: 'figures' }, figure('Now', data.before.total), figure('Draft', data.after.total), figure('Enter', data.entering.total, 'good'),
        figure('Leave', data.leaving.total, 'bad'), figure(data.moving.compared < data.after.total ? `Move (of the first ${data.moving.compared})` : 'Move', data.moving.total)),
      same && empty('Nothing changes', 'The draft contains the same items as the filter, and the first items have the same order. Random orders are not compared.'),
      data.entering.total > 0 && group('Enter', data.entering, 'good'),
      data.leaving.total > 0 && group('Leave', data.leaving, 'bad'),
      data.moving.total > 0 && h('section', { class: 'group' }, h('h2', null, `Move (${number(data.moving.total)})`),
        h('ul', { class: 'moves' }, data.moving.items.slice(0, shown).map((/** @type {any} */ m) => h('li', null,
          h('a', { href: href('wall', { q: `id:${m.id}`, item: m.id }) }, String(m.id)), ` ${m.from ?? later} → ${m.to ?? later}`)))));
  }

  /** @param {string} label @param {number} value @param {string} [kind] */
  function figure(label, value, kind) {
    return h('div', { class: value > 0 && kind ? kind : null }, h('dt', null, label), h('dd', null, number(value)));
  }

  /** @param {string} title @param {{total: number, items: any[]}} list @param {string} kind */
  function group(title, list, kind) {
    return h('section', { class: `group ${kind}` }, h('h2', null, `${title} (${number(list.total)})`),
      h('ul', { class: 'strip' }, list.items.map((item) => h('li', null, h('a', { href: href('wall', { q: `id:${item.id}`, item: item.id }) }, tileContent(item))))),
      list.total > list.items.length && h('p', { class: 'muted' }, `and ${number(list.total - list.items.length)} more`));
  }

  async function start() {
    if (from) {
      try {
        const { data } = await get(`v2/content/filters/${encodeURIComponent(from)}`, { info: 1 });
        const hidden = hiddenFilter(data);
        if (hidden) throw hidden;
        served = data;
        if (data.managed_by) declared = await manifestOf(session, data);
      } catch (err) {
        fill(source);
        fill(result, failure(err, () => void start()));
        return;
      }
      propose.hidden = false;
      fill(source, 'This is a draft of ', h('strong', null, h('bdi', null, String(served?.name))), ' (', ownerOf(served?.managed_by), '). The draft does not change the filter. To propose your change, export the manifest, and open a pull request.');
      const old = servedValues();
      for (const field of /** @type {(keyof typeof draft)[]} */ (Object.keys(draft))) {
        if (!params.has(field) && !cleared.includes(field)) draft[field] = old[field];
      }
      name.value = draft.name;
      bar.set(draft.q);
      order.set(draft.sort_by);
      favorite.value = draft.favorite_tag;
      access.value = draft.read;
      refresh();
    }
    fill(result, skeleton(4));
    await compare();
  }

  return {
    element: h('div', { class: 'page editor' },
      h('div', { class: 'pagehead' }, heading, source),
      h('div', { class: 'form' }, labelled('Name', name), h('div', { class: 'query' }, bar.element),
        h('div', { class: 'row' }, order.element, labelled('Favorite tag first', favorite), labelled('Readable with', access), h('span', { class: 'spacer' }),
          button({ icon: 'copy', text: 'Copy link for the reviewer', onclick: () => void copy(new URL(href('filters/edit', changes()), location.href).href, 'the link') }))),
      views.element),
    title: from ? 'Propose a change' : 'New filter',
    started: start,
    stopped: () => request?.abort(),
    shortcuts: [
      { keys: '/', text: 'Edit the query', run: () => bar.focus() },
      { keys: 'c', text: 'Show the comparison', run: () => views.show('compare') },
      { keys: 'm', text: 'Show the manifest', run: () => views.show('manifest') },
      { keys: 'y', text: 'Copy the manifest', run: () => void copy(text(), 'the manifest') },
    ],
  };
}

/**
 * Returns the manifest of a filter, or the reason why it is unknown.
 * @param {import('./api.js').Session} session
 * @param {import('./filter.js').Filter} filter
 * @returns {Promise<{manifest?: import('./manifest.js').Manifest, source_path?: string, reason?: string}>}
 */
async function manifestOf(session, { filter_uuid }) {
  const reason = refusal(session, 'The manifest', 'ReadPrivate');
  return reason ? { reason } : get(`v2/content/filters/${encodeURIComponent(filter_uuid)}/manifest`).then(({ data }) => data, (err) => ({ reason: err.message }));
}

function skeletonLine() {
  return h('span', { class: 'muted' }, 'Loading the filter…');
}
