// A dialog over the wall that shows one item with all its fields.

import { curl, get, Problem } from './api.js';
import { button, fill, foreignURL, h, outsideLink } from './dom.js';
import { explanationTree } from './explanation.js';
import { authorOf, escapeTerm, picture, picturesOn, pictureURL, tagsOf, tagText, textOf, typeOf } from './item.js';
import { href } from './router.js';
import { badge, copy, date, empty, failure, number, openDialog, refusal, refused, skeleton, stateBadge, states, tabs } from './ui.js';

/** @typedef {import('./item.js').Item} Item */

/**
 * @typedef {object} ItemDialogOptions
 * @property {() => {path: string, query: Record<string, any>}} listed returns the request of the list for which the dialog explains the
 *   item
 * @property {import('./api.js').Session} session
 * @property {import('./selection.js').Selection} selection the decisions of the session
 * @property {string} tab
 * @property {(tab: string) => void} tabChanged
 * @property {(from: number, by: number) => Item | null} step returns the next or the previous item
 * @property {() => void} closed
 */

/** @param {ItemDialogOptions} options */
export function openItem(options) {
  let tab = options.tab;
  let id = 0;
  /** The item that the dialog shows. @type {Item | null} */
  let current = null;
  const stage = h('div', { class: 'stage' });
  const decisions = h('div', null);
  const parts = h('div', null);
  const side = h('div', { class: 'side' }, decisions, parts);
  const previous = button({ icon: 'left', text: 'Previous item', only: true, onclick: () => step(-1) });
  const next = button({ icon: 'right', text: 'Next item', only: true, onclick: () => step(1) });
  const dialog = openDialog('Item', { class: 'item', closed: options.closed }, h('div', { class: 'split' }, stage, side));
  const heading = /** @type {HTMLElement} */ (dialog.querySelector('h2'));
  heading.after(h('span', { class: 'spacer' }), previous, next);
  dialog.addEventListener('keydown', (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, j: 1, k: -1 }[event.key];
    if (!by || event.defaultPrevented || (event.target instanceof Element && event.target.closest('input, [role=tablist], video'))) return;
    event.preventDefault();
    step(by);
  });

  /** @param {number} by */
  function step(by) {
    const item = options.step(id, by);
    if (item) void show(Number(item.id), item);
  }

  /**
   * Shows an item. If the caller passes only the ID, the function loads the item.
   * @param {number} wanted
   * @param {Item} [item]
   */
  async function show(wanted, item) {
    if (id === wanted) return;
    id = wanted;
    current = null;
    fill(heading, 'Item ', h('span', { class: 'mono' }, wanted));
    if (!item) {
      fill(stage);
      fill(decisions);
      fill(parts, skeleton(6));
      try {
        item = await load(wanted);
      } catch (err) {
        fill(parts, missing(err));
        return;
      }
      if (id !== wanted) return;
    }
    const opened = item;
    current = item;
    fill(stage, media(item));
    fill(decisions, options.selection.actionsFor(() => opened));
    render();
  }

  /** Shows the parts of the item with all decisions. */
  function render() {
    if (!current) return;
    const shown = options.selection.shown(current);
    const set = tabs('Parts of the item', [
      { id: 'details', text: 'Details', render: () => details(shown) },
      { id: 'sources', text: 'Tags and units', render: () => guarded(sources, shown) },
      { id: 'history', text: 'History', render: () => guarded(history, shown) },
      { id: 'explain', text: 'Explain', render: () => guarded(explain, shown) },
      { id: 'json', text: 'JSON', render: () => json(shown) },
    ], tab, (changed) => {
      tab = changed;
      options.tabChanged(changed);
    });
    const focused = parts.contains(document.activeElement);
    fill(parts, set.element);
    // A decision shows the parts again while the user may be in them.
    if (focused) /** @type {HTMLElement | null} */ (parts.querySelector('[role=tab][aria-selected=true]'))?.focus();
  }

  /**
   * Returns a tab that needs a READ-WRITE session.
   * @param {(item: Item) => HTMLElement} tab
   * @param {Item} item
   */
  function guarded(tab, item) {
    const reason = refusal(options.session, 'This tab');
    return reason ? refused(reason) : tab(item);
  }

  /** @param {Item} item */
  function sources(item) {
    const box = h('div', null, skeleton(4));
    const remove = (/** @type {any} */ tag) => options.selection.tags && tag.sources.some((/** @type {any} */ s) => s.kind === 'caller')
      && button({ icon: 'close', text: `Remove the tag ${tagText(tag)}`, only: true, kind: 'quiet', onclick: () => options.selection.untag(item, tag) });
    get(`v2/content/items/${item.id}/sources`).then(({ data }) => {
      const tags = data.tags ?? [];
      const units = data.units ?? [];
      if (tags.length + units.length === 0) {
        fill(box, empty('No tags and no units', 'No manifest and no caller has assigned a tag or a unit to this item.'));
        return;
      }
      fill(box, tags.length > 0 && h('section', null, h('h3', null, 'Tags'), tags.map((/** @type {any} */ t) => h('div', { class: 'source' }, h('div', { class: 'row' }, tagLink(t), remove(t)), origin(t.sources)))),
        units.length > 0 && h('section', null, h('h3', null, 'Conversion units'), units.map((/** @type {any} */ u) => h('div', { class: 'source' }, h('strong', null, h('bdi', null, String(u.label ?? u.name ?? u.id))), origin(u.sources)))));
    }, (err) => fill(box, missing(err)));
    return box;
  }

  /** @param {Item} item */
  function history(item) {
    const box = h('div', null, skeleton(4));
    get(`v2/content/items/${item.id}/history`).then(({ data }) => fill(box, data.entries.length > 0 ? h('ol', { class: 'history' }, data.entries.map(change))
      : empty('No changes yet', 'The history begins with the next change. Tags and units that manifests assign are not part of it.')), (err) => fill(box, missing(err)));
    return box;
  }

  /** @param {Item} item */
  function explain(item) {
    const box = h('div', null, skeleton(4));
    const { path, query } = options.listed();
    const request = path === 'v2/content/items'
      ? get('v2/content/items/explain', { q: query.q, ugc_id: item.id })
      : get(`${path}/explain`, { additional_query: query.additional_query, ugc_id: item.id });
    request.then(({ data }) => fill(box, explanationTree(data)), (err) => fill(box, missing(err)));
    return box;
  }

  return {
    show, close: () => dialog.close(),
    /** @param {number} changed the ID of an item with a new decision */
    changed: (changed) => {
      if (changed === id) render();
    },
  };
}

/**
 * Returns the content of a part of the dialog whose request failed.
 * @param {unknown} err
 */
function missing(err) {
  const gone = err instanceof Problem && err.status === 404;
  return gone ? empty('This item is not visible', 'It does not exist, or your access token does not show it.') : failure(err);
}

/**
 * @param {number} id
 * @returns {Promise<Item>}
 */
async function load(id) {
  return (await get(`v2/content/${id}`)).data;
}

/**
 * Returns the picture or the video of an item, in the largest size that fits.
 * @param {Item} item
 */
export function media(item) {
  const original = item.content?.media?.original_url;
  if (typeOf(item) === 'video' && picturesOn() && foreignURL(original)) {
    const video = h('video', { controls: true, preload: 'none', playsinline: true, poster: foreignURL(pictureURL(item, 'large_image')), 'aria-label': `Video by ${authorOf(item)}` });
    video.src = original;
    return video;
  }
  const large = picture(item, 'large_image');
  const img = large.querySelector('img');
  if (img) {
    img.loading = 'eager';
    img.alt = `Picture by ${authorOf(item)}`;
  }
  return large;
}

/**
 * Returns a list of names and values. It omits entries without a value.
 * @param {[name: string, value: import('./dom.js').Child][]} entries
 */
function facts(entries) {
  return h('dl', { class: 'facts' }, entries.filter(([, value]) => value !== '' && value !== null && value !== undefined && value !== false)
    .map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value instanceof Node ? value : h('bdi', null, value)))));
}

/** @param {Item} item */
export function details(item) {
  const content = item.content ?? {};
  const author = content.author ?? {};
  const place = content.platform_data?.location;
  const submission = Object.entries(item.submission ?? {});
  return h('div', null,
    h('div', { class: 'row' }, stateBadge(String(item.approval_status)), item.featured && badge('plain', 'Featured'), item.claimed && badge('plain', 'Claimed'), badge('plain', typeOf(item))),
    textOf(item) && h('p', { class: 'itemtext', dir: 'auto' }, textOf(item)),
    facts([
      ['Author', h('span', null, outsideLink(author.profile?.profile_link, author.profile?.name || (author.username && `@${author.username}`)), author.username && [' ', itemsLink('author', author.username, `All items by @${author.username}`)])],
      ['Platform', content.social_platform && itemsLink('social_platform', content.social_platform)],
      ['Original', link(content.platform_data?.social_platform_original_url)],
      ['Media', link(content.media?.original_url)],
      ['Posted', date(content.social_platform_created_on)],
      ['Added', date(item.created_on)],
      ['Last changed', date(item.last_modified)],
      ['Place', place?.name && place.name !== 'Unknown' && itemsLink(`content.platform_data.location.${place.full_name ? 'full_name' : 'name'}`, place.full_name || place.name)],
      ['Hashtag', item.hashtag?.hashtag_text && itemsLink('hashtag.hashtag_text', item.hashtag.hashtag_text, `#${item.hashtag.hashtag_text}`)],
      ['Campaign', item.campaign && itemsLink('campaign', item.campaign)],
      ['Tags', tagsOf(item).length > 0 && chips(tagsOf(item).map(tagLink))],
    ]),
    submission.length > 0 && h('section', null, h('h3', null, 'Submission ', badge('plain', 'private')), facts(submission.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]))));
}

/** @param {unknown} url returns a link, or '' for an item without the URL, for which the API returns about:blank */
function link(url) {
  return foreignURL(url) && outsideLink(url);
}

/**
 * Returns a link to the items that have the same value in a field.
 * @param {string} field
 * @param {unknown} value
 * @param {string} [text]
 */
function itemsLink(field, value, text) {
  const quoted = String(value).replace(/["\\]/g, '\\$&');
  return h('a', { href: href('wall', { q: /^[a-z\d_]+$/.test(quoted) ? `${field}:${quoted}` : `${field}:"${quoted}"` }) }, h('bdi', null, text ?? String(value)));
}

/** @param {import('./dom.js').Child[]} children */
function chips(children) {
  return h('div', { class: 'chips' }, children);
}

/** @param {{namespace: string, key: string}} tag */
export function tagLink({ namespace, key }) {
  return h('a', { class: 'chip', href: href('wall', { q: `tags.${escapeTerm(namespace)}.key:${escapeTerm(key)}` }) }, h('bdi', null, `${namespace}: ${key}`));
}

/** What the actions of a history mean. @type {Record<string, string>} */
const actions = { create: 'Added', replace: 'Replaced by an import', change: 'Changed', tag: 'Tagged', untag: 'Tag removed' };

/** @param {any} entry shows an entry of the history of an item */
function change({ time, by, action, reason, changes, omitted }) {
  const value = (/** @type {any} */ member, /** @type {string | null} */ text) => (text === null ? '–' : member === 'approval_status' ? states[text] ?? text : text);
  return h('li', null,
    h('div', null, h('strong', null, actions[action] ?? action), ' by ', h('bdi', null, by.user ? `${by.user} (${by.token})` : by.token), h('span', { class: 'muted' }, ` · ${date(time)}`)),
    reason && h('p', { class: 'reason' }, h('bdi', null, reason)),
    changes.length > 0 && h('ul', null, changes.map((/** @type {any} */ c) => h('li', null, h('code', null, h('bdi', null, c.member)),
      c.from !== null || c.to !== null ? [': ', h('bdi', null, value(c.member, c.from)), ' → ', h('bdi', null, value(c.member, c.to))] : ': private'))),
    omitted > 0 && h('p', { class: 'muted' }, `and ${number(omitted)} more`));
}

/** @param {any[]} list */
function origin(list) {
  return h('ul', null, (list ?? []).map((s) => h('li', null, s.kind === 'caller' ? 'set over HTTP' : `${s.kind} ${s.namespace}/${s.name}${s.by === 'selector' ? ', by selector' : s.by === 'id' ? ', by ID' : ''}`)));
}

/** @param {Item} item */
function json(item) {
  const text = JSON.stringify(item, null, 2);
  return h('div', null,
    h('div', { class: 'row' }, button({ icon: 'copy', text: 'Copy as curl', onclick: () => void copy(curl(`v2/content/${item.id}`), 'the command') }),
      button({ icon: 'copy', text: 'Copy JSON', onclick: () => void copy(text, 'the JSON') }), h('span', { class: 'spacer' }), h('span', { class: 'muted' }, `${number(text.length)} characters`)),
    h('pre', { class: 'code', tabindex: '0' }, h('code', null, text)));
}
