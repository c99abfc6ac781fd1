// The URL class: one string and the offsets of its components. Reading a component is a substring; a setter rebuilds
// the string from a record of components.
import { createBlobUrl, revokeBlobUrl } from './blob-url.ts';
import { hasAuthority, parsePlaces, serialise, toRecord, type UrlPlaces } from './url-parse.ts';
import { isSpecial, type UrlRecord } from './url-record.ts';
import { createUrlParams, replaceParams, type URLSearchParams } from './url-search-params.ts';
import {
  setHash,
  setHost,
  setPassword,
  setPath,
  setPortText,
  setScheme,
  setSearch,
  setUsername,
} from './url-setters.ts';
import { finishInterface, internal, requireArguments, toUsvString } from './webidl.ts';

function invalidUrl(text: string, base?: string): TypeError {
  const error = new TypeError(
    base === undefined ? `Invalid URL: "${text}"` : `Invalid URL: "${text}" with base "${base}"`,
  );
  return Object.assign(error, { code: 'ERR_INVALID_URL', input: text, ...(base === undefined ? {} : { base }) });
}

/**
 * Parses the URL argument of Request, fetch and the like. @throws {TypeError} when the input is not an absolute URL.
 */
export function parseUrl(input: unknown): { href: string; hasCredentials: boolean } {
  const text = toUsvString(input);
  const places = parsePlaces(text);
  if (places === null) throw invalidUrl(text);
  return { href: places.href, hasCredentials: places.hostStart > places.schemeEnd + 2 };
}

export class URL {
  #places: UrlPlaces;
  #params: URLSearchParams | null = null;

  constructor(url: unknown, base: unknown = undefined) {
    if (url === internal) {
      this.#places = base as UrlPlaces;
      return;
    }
    requireArguments(arguments.length, 1, 'URL');
    const text = toUsvString(url);
    const baseText = base === undefined ? undefined : toUsvString(base);
    const places = parsePlaces(text, baseText);
    if (places === null) throw invalidUrl(text, baseText);
    this.#places = places;
  }

  static parse(url: unknown, base: unknown = undefined): URL | null {
    requireArguments(arguments.length, 1, 'URL.parse');
    const places = parsePlaces(toUsvString(url), base === undefined ? undefined : toUsvString(base));
    return places === null ? null : new URL(internal, places);
  }

  static canParse(url: unknown, base: unknown = undefined): boolean {
    requireArguments(arguments.length, 1, 'URL.canParse');
    return parsePlaces(toUsvString(url), base === undefined ? undefined : toUsvString(base)) !== null;
  }

  static createObjectURL(blob: unknown): string {
    requireArguments(arguments.length, 1, 'URL.createObjectURL');
    return createBlobUrl(blob);
  }

  static revokeObjectURL(url: unknown): void {
    requireArguments(arguments.length, 1, 'URL.revokeObjectURL');
    revokeBlobUrl(toUsvString(url));
  }

  #change(change: (record: UrlRecord, value: string) => boolean, value: string): void {
    const record = toRecord(this.#places);
    if (change(record, value)) this.#places = serialise(record);
  }

  get href(): string {
    return this.#places.href;
  }
  set href(value: string) {
    const text = toUsvString(value);
    const places = parsePlaces(text);
    if (places === null) throw invalidUrl(text);
    this.#places = places;
    this.#refreshParams();
  }

  get origin(): string {
    const { href, schemeEnd, hostStart, pathStart } = this.#places;
    const scheme = href.slice(0, schemeEnd - 1);
    if (scheme === 'blob') {
      const inner = parsePlaces(href.slice(schemeEnd));
      return inner !== null && /^https?:/.test(inner.href) ? new URL(internal, inner).origin : 'null';
    }
    if (scheme === 'file' || !isSpecial(scheme)) return 'null';
    return `${scheme}://${href.slice(hostStart, pathStart)}`;
  }

  get protocol(): string {
    return this.#places.href.slice(0, this.#places.schemeEnd);
  }
  set protocol(value: string) {
    this.#change(setScheme, toUsvString(value));
  }

  get username(): string {
    return this.#places.hostStart > this.#places.schemeEnd + 2 ? toRecord(this.#places).username : '';
  }
  set username(value: string) {
    this.#change(setUsername, toUsvString(value));
  }

  get password(): string {
    return this.#places.hostStart > this.#places.schemeEnd + 2 ? toRecord(this.#places).password : '';
  }
  set password(value: string) {
    this.#change(setPassword, toUsvString(value));
  }

  get host(): string {
    const { href, hostStart, pathStart } = this.#places;
    return hasAuthority(this.#places) ? href.slice(hostStart, pathStart) : '';
  }
  set host(value: string) {
    this.#change((record, text) => setHost(record, text, true), toUsvString(value));
  }

  get hostname(): string {
    return this.#places.href.slice(this.#places.hostStart, this.#places.hostEnd);
  }
  set hostname(value: string) {
    this.#change((record, text) => setHost(record, text, false), toUsvString(value));
  }

  get port(): string {
    const { href, hostEnd, pathStart } = this.#places;
    return hasAuthority(this.#places) && hostEnd < pathStart ? href.slice(hostEnd + 1, pathStart) : '';
  }
  set port(value: string) {
    this.#change(setPortText, toUsvString(value));
  }

  get pathname(): string {
    return this.#places.href.slice(this.#places.pathStart, this.#places.queryStart);
  }
  set pathname(value: string) {
    this.#change(setPath, toUsvString(value));
  }

  get search(): string {
    const { href, queryStart, hashStart } = this.#places;
    return hashStart - queryStart > 1 ? href.slice(queryStart, hashStart) : '';
  }
  set search(value: string) {
    this.#change(setSearch, toUsvString(value));
    this.#refreshParams();
  }

  get searchParams(): URLSearchParams {
    return (this.#params ??= createUrlParams(this.search.slice(1), (query) => {
      const record = toRecord(this.#places);
      record.query = query === '' ? null : query;
      this.#places = serialise(record);
    }));
  }

  get hash(): string {
    const { href, hashStart } = this.#places;
    return href.length - hashStart > 1 ? href.slice(hashStart) : '';
  }
  set hash(value: string) {
    this.#change(setHash, toUsvString(value));
  }

  toString(): string {
    return this.#places.href;
  }
  toJSON(): string {
    return this.#places.href;
  }

  #refreshParams(): void {
    if (this.#params !== null) replaceParams(this.#params, this.search.slice(1));
  }
}
finishInterface(URL);
