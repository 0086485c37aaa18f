// Creates manifests: the ContentFilter of a draft, and a Tag or an ActivateUnit for items that the user has selected or found.
//
//     openExport({ property: session.property, ids: [101, 102], query: 'beach' })
//
// opens the dialog that exports items. With ids, the manifest can list the items, and with a query, it can select them. If both are given,
// the user chooses.

import { button, fill, h, labelled, select } from './dom.js';
import { splitTag } from './item.js';
import { propertyStatus } from './rejected.js';
import { copy, count, openDialog, toast } from './ui.js';

/** @typedef {{apiVersion: string, kind: string, metadata: Record<string, any>, spec: Record<string, any>}} Manifest */

/**
 * @typedef {object} FilterSpec
 * @property {string} object metadata.name
 * @property {string} name
 * @property {string} query
 * @property {string} sortBy '' means the default of the kind
 * @property {string} favoriteTag namespace:key, or ''
 * @property {boolean} readOnly whether READ-ONLY tokens may list the items
 * @property {number} [adopt] the ID of the filter that the manifest takes over
 */

/** The maximum number of IDs in a manifest. */
export const maxItems = 10_000;

/**
 * Returns a valid Kubernetes object name, made of the first text that has letters or digits for it. If a text does not fit, or no text has
 * any, the name contains a hash, so that different objects get different names.
 * @param {string} kind a name of the kind, such as 'filter'
 * @param {...string} texts such as the name and the query of a filter
 */
export function objectName(kind, ...texts) {
  const names = texts.map((text) => text.normalize('NFKD').toLowerCase().replace(/[\u0300-\u036f]/g, '').replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, ''));
  const name = names.find(Boolean) ?? kind;
  if (name !== kind && name.length <= 63) return name;
  const hash = [...texts.join('\0')].reduce((sum, c) => Math.imul(sum ^ Number(c.codePointAt(0)), 16777619) >>> 0, 2166136261); // FNV-1a
  return `${name.slice(0, 55).replace(/-$/, '')}-${hash.toString(36)}`;
}

/**
 * Returns a text as a YAML scalar.
 * @param {string} text
 */
export function scalar(text) {
  text = text.toWellFormed(); // UTF-8 cannot encode half of a surrogate pair
  if (/^[A-Za-z][\w./-]*( [\w./-]+)*$/.test(text) && !/^(true|false|yes|no|on|off|null|y|n)$/i.test(text)) return text;
  // A scalar in single quotes can contain all printable characters. A scalar in double quotes has the same escapes as JSON.
  if (/^[^\p{Cc}\p{Cf}\u2028\u2029\ufffe\uffff]*$/u.test(text)) return `'${text.replaceAll("'", "''")}'`;
  return JSON.stringify(text).replace(/[\p{Cc}\p{Cf}\u2028\u2029\ufffe\uffff]/gu, (c) => [...c].map((point) => {
    const code = /** @type {number} */ (point.codePointAt(0));
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  }).join(''));
}

/**
 * Returns a JSON value as YAML in flow style, which fits on one line.
 * @param {any} value
 * @returns {string}
 */
function flow(value) {
  if (typeof value === 'string') return scalar(value);
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).filter(([, v]) => v !== undefined).map(([name, v]) => `${scalar(name)}: ${flow(v)}`).join(', ')}}`;
}

/**
 * Returns an object as a YAML document. A member that is undefined is left out. Short values are in flow style.
 * @param {Record<string, any>} object
 * @param {string} [indent]
 * @returns {string}
 */
export function yaml(object, indent = '') {
  return Object.entries(object).filter(([, value]) => value !== undefined).map(([name, value]) => {
    const start = `${indent}${scalar(name)}:`;
    const short = `${start} ${flow(value)}\n`;
    const list = Array.isArray(value);
    if (typeof value !== 'object' || value === null || Object.keys(value).length === 0 || (list || indent) && short.length <= 100) return short;
    return `${start}\n${list ? value.map((v) => `${indent}  - ${flow(v)}\n`).join('') : yaml(value, `${indent}  `)}`;
  }).join('');
}

/**
 * Returns a manifest.
 * @param {string} kind
 * @param {string} name
 * @param {string} property the property of the session, as namespace/name
 * @param {Record<string, any>} spec
 * @returns {Manifest}
 */
function manifest(kind, name, property, spec) {
  const [namespace, ref] = property.split('/');
  return {
    apiVersion: 'vitrine.dev/v1alpha1', kind, metadata: { name, namespace },
    spec: { propertyRef: ref && ref !== 'default' ? { name: ref } : undefined, ...spec },
  };
}

/**
 * Returns the manifest of a filter.
 * @param {FilterSpec} spec
 * @param {string} property
 */
export function filterManifest(spec, property) {
  const { adopt, favoriteTag } = spec;
  return manifest('ContentFilter', spec.object, property, {
    name: spec.name || undefined,
    query: spec.query || '*:*',
    sortBy: spec.sortBy || undefined,
    favoriteTag: favoriteTag ? splitTag(favoriteTag) : undefined,
    readAccess: spec.readOnly ? 'ReadOnly' : 'ReadWrite',
    adopt: adopt ? { filterID: adopt } : undefined,
  });
}

/**
 * Returns the manifest of a filter with the values of a draft. Everything that the draft does not change stays as it is.
 * @param {Manifest} current
 * @param {FilterSpec} draft
 * @returns {Manifest}
 */
export function changedManifest({ metadata, spec, ...rest }, { name, query, sortBy, favoriteTag, readOnly }) {
  /** Returns the member of the spec, unless it means something else than the draft. */
  const keep = (/** @type {string} */ member, /** @type {boolean} */ same, /** @type {unknown} */ value) => ({ [member]: same ? spec[member] : value });
  const { namespace, key } = spec.favoriteTag ?? {};
  return {
    ...rest, metadata, spec: {
      ...spec,
      ...keep('name', (spec.name || metadata.name) === (name || metadata.name), name || undefined),
      query: query || '*:*',
      ...keep('sortBy', (spec.sortBy || standardOrder) === (sortBy || standardOrder), sortBy || undefined),
      ...keep('favoriteTag', (key ? `${namespace}:${key}` : '') === favoriteTag, favoriteTag ? splitTag(favoriteTag) : undefined),
      ...keep('readAccess', (spec.readAccess === 'ReadOnly') === readOnly, readOnly ? 'ReadOnly' : 'ReadWrite'),
    },
  };
}

/** The order of a filter without sortBy. */
const standardOrder = 'created_on:desc';

/**
 * Opens the dialog that exports items as the manifest of a Tag or an ActivateUnit. It exports the items with the IDs, or selects them by the
 * query.
 * @param {{property: string, ids?: number[], query?: string, tag?: {namespace: string, key: string}}} what the property of the session, the
 *   items, and a tag to begin with
 */
export function openExport({ property, ids = [], query = '', tag }) {
  const text = (/** @type {Record<string, any>} */ attributes) => h('input', { type: 'text', spellcheck: 'false', autocomplete: 'off', ...attributes, oninput: show });
  const kind = select([['Tag', 'Tag'], ['ActivateUnit', 'Conversion unit']], 'Tag', show);
  const by = select([
    ...(ids.length > 0 ? /** @type {[string, string][]} */ ([['ids', count(ids.length, 'listed item')]]) : []),
    ...(query ? /** @type {[string, string][]} */ ([['query', 'All items that match the query, also later']]) : []),
  ], ids.length > 0 ? 'ids' : 'query', show);
  const namespace = text({ value: tag?.namespace ?? 'marketer_tags', pattern: '[a-z][a-z0-9_\\-]{0,62}', required: true });
  const key = text({ value: tag?.key ?? '', pattern: '[a-z]{1,64}', required: true, placeholder: 'summer' });
  const name = text({ maxlength: '200', required: true, placeholder: 'Shop the sandals' });
  const image = text({ type: 'url', required: true, pattern: 'https?://.+', placeholder: 'https://…' });
  const target = text({ type: 'url', required: true, pattern: 'https?://.+', placeholder: 'https://…' });
  const forTag = h('div', { class: 'fields' }, labelled('Namespace', namespace), labelled('Key', key));
  const forUnit = h('div', { class: 'fields' }, labelled('Name', name), labelled('Image', image), labelled('Link', target));
  const hint = h('p', { class: 'muted', role: 'status' });
  const shown = h('pre', { class: 'code', tabindex: '0' });
  const copyButton = button({ icon: 'copy', text: 'Copy the manifest', kind: 'primary', onclick: () => void copy(yaml(exported()), 'the manifest') });
  const downloadButton = button({ icon: 'download', text: 'Download', onclick: () => download(`${exported().metadata.name}.yaml`, yaml(exported())) });

  const proposing = h('span', null, proposeLink(() => ({ name: exported().metadata.name, text: yaml(exported()) })));

  function exported() {
    const items = by.value === 'ids' ? { items: ids } : { selector: { query } };
    return kind.value === 'Tag' ? manifest('Tag', objectName('tag', key.value), property, { namespace: namespace.value, key: key.value, ...items })
      : manifest('ActivateUnit', objectName('unit', name.value), property, { name: name.value.trim(), imageURL: image.value, clickThroughURL: target.value, ...items });
  }

  /** Returns what the user must correct, or ''. */
  function missing() {
    if (by.value === 'ids' && ids.length > maxItems) return `A manifest lists at most ${count(maxItems, 'item')}. Select the items by a query instead.`;
    if (kind.value === 'Tag') {
      if (!namespace.validity.valid || namespace.value === 'ugc') return 'The namespace begins with a lowercase letter, followed by up to 62 lowercase letters, digits, _ and -. It is not ugc.';
      return key.validity.valid ? '' : 'Type the key of the tag: 1 to 64 lowercase letters.';
    }
    if (name.value.trim() === '') return 'Type the name of the unit.';
    return image.validity.valid && target.validity.valid ? '' : 'Type the URLs of the image and of the page that a click opens.';
  }

  function show() {
    forTag.hidden = kind.value !== 'Tag';
    forUnit.hidden = !forTag.hidden;
    const wrong = missing();
    const circular = by.value === 'query' && (kind.value === 'Tag' ? /\btags\b|\bactivate_units\b/ : /\bactivate_units\b/).test(query);
    fill(hint, wrong || (circular ? `The query of ${kind.value === 'Tag' ? 'a Tag cannot use tags or units' : 'a unit cannot use units'}, so the server rejects the manifest if the query has such a clause.`
      : 'Add the manifest to your repository, and open a pull request.'));
    copyButton.disabled = downloadButton.disabled = wrong !== '';
    shown.hidden = wrong !== '';
    proposing.hidden = wrong !== '';
    if (!wrong) fill(shown, h('code', null, yaml(exported())));
  }

  openDialog('Export as a manifest', { class: 'export' }, h('div', { class: 'dialogform' },
    labelled('Kind', kind), by.options.length > 1 && labelled('Items', by), forTag, forUnit, hint, shown,
    h('div', { class: 'row end' }, copyButton, downloadButton, proposing)));
  show();
  key.focus();
}

/** @typedef {{repository: string, host?: string, branch?: string, path?: string}} Source the repository in spec.source of the Property */

/** The maximum length of a URL that contains a manifest. GitHub answers longer ones with an error. */
const maxURL = 6000;

/**
 * Returns the page of the Git host on which a user proposes a manifest.
 * @param {Source} source
 * @param {string} file the path of the file in the repository
 * @param {string} text the manifest
 * @param {boolean} exists whether the file exists
 * @returns {{url: string, filled: boolean}} filled is false if the user has to paste the manifest
 */
export function proposal({ repository, host, branch = 'main' }, file, text, exists) {
  const { hostname } = new URL(repository);
  const kind = host || (hostname.includes('github') ? 'GitHub' : hostname.includes('gitlab') ? 'GitLab' : 'Gitea');
  const page = (/** @type {string} */ path, /** @type {Record<string, string>} */ params) => `${repository}/${path}?${new URLSearchParams(params)}`;
  // Only GitHub takes the content of a new file from the URL, and none takes that of a file that exists.
  if (kind === 'GitHub') {
    if (exists) return { url: `${repository}/edit/${branch}/${file}`, filled: false };
    const whole = page(`new/${branch}`, { filename: file, value: text });
    return whole.length <= maxURL ? { url: whole, filled: true } : { url: page(`new/${branch}`, { filename: file }), filled: false };
  }
  if (kind === 'GitLab') return { url: exists ? `${repository}/-/edit/${branch}/${file}` : page(`-/new/${branch}`, { file_name: file }), filled: false };
  const [name = '', ...folders] = file.split('/').reverse();
  return { url: exists ? `${repository}/_edit/${branch}/${file}` : page(`_new/${[...folders, branch].reverse().join('/')}`, { filename: name }), filled: false };
}

/**
 * Returns a link that opens the page of the Git host for a manifest. The link is hidden if the Property names no repository.
 * @param {() => {name: string, text: string, exists?: boolean, file?: string}} current the manifest, whether its file exists, and the path of
 *   the file; by default, the file has the name of the object, and is in the directory of the source
 */
export function proposeLink(current) {
  const link = h('a', { class: 'button', target: '_blank', rel: 'noopener noreferrer', referrerpolicy: 'no-referrer', hidden: true, onclick: () => {
    if (!source) return;
    const { name, text, exists = false, file } = current();
    const { url, filled } = proposal(source, file || [source.path, `${name}.yaml`].filter(Boolean).join('/'), text, exists);
    link.href = url;
    if (!filled) void copy(text, 'the manifest: paste it into the page of the Git host');
  } }, 'Open a pull request');
  /** @type {Source | undefined} */
  let source;
  propertyStatus().then((status) => {
    source = status.source;
    if (!source) return;
    link.href = source.repository;
    link.hidden = false;
  }, () => toast('The console cannot find out whether the property has a repository for pull requests.', { bad: true }));
  return link;
}

/**
 * Offers a text as a file for download.
 * @param {string} name
 * @param {string} text
 */
export function download(name, text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/yaml' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
