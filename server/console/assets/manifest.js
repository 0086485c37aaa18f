// Creates the manifest of a ContentFilter.

import { splitTag } from './item.js';

/**
 * @typedef {object} FilterSpec
 * @property {string} object metadata.name
 * @property {string} name
 * @property {string} query
 * @property {string} sortBy '' means the default of the kind
 * @property {string} favoriteTag namespace:key, or ''
 * @property {boolean} readOnly whether READ-ONLY tokens may list the items
 */

/**
 * Returns a valid Kubernetes object name, made of the first text that has letters or digits for it.
 * @param {string[]} texts such as the name and the query of a filter
 */
export function objectName(...texts) {
  const names = texts.map((text) => text.normalize('NFKD').toLowerCase().replace(/[\u0300-\u036f]/g, '').replace(/[^a-z0-9]+/g, '-').replace(/^-/, '').slice(0, 63).replace(/-$/, ''));
  return names.find(Boolean) ?? 'filter';
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
 * Returns the manifest of a filter.
 * @param {FilterSpec} spec
 * @param {string} property the property of the session, as namespace/name
 */
export function manifest(spec, property) {
  const [namespace, ref] = property.split('/');
  const tag = splitTag(spec.favoriteTag);
  const lines = [
    'apiVersion: vitrine.dev/v1alpha1',
    'kind: ContentFilter',
    'metadata:',
    `  name: ${scalar(spec.object)}`,
    `  namespace: ${scalar(namespace)}`,
    'spec:',
    ref && ref !== 'default' && `  propertyRef: {name: ${scalar(ref)}}`,
    spec.name && `  name: ${scalar(spec.name)}`,
    `  query: ${scalar(spec.query || '*:*')}`,
    spec.sortBy && `  sortBy: ${scalar(spec.sortBy)}`,
    spec.favoriteTag && `  favoriteTag: {namespace: ${scalar(tag.namespace)}, key: ${scalar(tag.key)}}`,
    `  readAccess: ${spec.readOnly ? 'ReadOnly' : 'ReadWrite'}`,
  ];
  return `${lines.filter(Boolean).join('\n')}\n`;
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
