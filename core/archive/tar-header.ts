// Parses and writes the blocks of a tar file, in the formats of POSIX (ustar, pax) and GNU tar. Parsing is strict.
// Pure. No library is used, because libraries hold a pax record of any announced length in memory, and accept entries
// that are refused here.
import type { PlatformError } from '../errors.ts';
import { archiveError } from './archive-error.ts';

export const BLOCK_BYTES = 512;

/** The content of an entry's header. */
interface TarHeader {
  readonly path: string;
  readonly type: TarType;
  readonly bytes: number;
  /** Target of a symbolic link, unless a preceding record overrides it. */
  readonly target: string;
  readonly isExecutable: boolean;
}

/** `pax` and `longName` describe the next entry. `global` describes all entries, and is skipped. */
type TarType = 'file' | 'folder' | 'link' | 'pax' | 'longName' | 'global';

const types: Readonly<Record<string, TarType>> = {
  '\0': 'file',
  '0': 'file',
  '5': 'folder',
  x: 'pax',
  L: 'longName',
  g: 'global',
};

const refused: Readonly<Record<string, string>> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a named pipe',
  S: 'a sparse file',
};

const strict = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses a header of 512 bytes; null for the block of zeros that ends the archive.
 *
 * @param takesLinks whether symbolic links are allowed.
 * @throws {PlatformError} for a wrong checksum, an unknown format, links and devices.
 */
export function parseTarHeader(block: Uint8Array, takesLinks = false): TarHeader | null {
  if (isZero(block)) return null;
  let sum = 8 * 0x20;
  for (let at = 0; at < BLOCK_BYTES; at++) if (at < 148 || at >= 156) sum += block[at]!;
  if (octal(block, 148, 8) !== sum) throw invalid('a header does not match its checksum');
  if (latin1(block, 257, 5) !== 'ustar') throw invalid('it is not a tar file in ustar, pax or gnu format');
  const isGnu = block[262] === 0x20;
  const prefix = isGnu ? '' : text(block, 345, 155);
  const name = text(block, 0, 100);
  const path = prefix === '' ? name : `${prefix}/${name}`;
  const flag = String.fromCharCode(block[156]!);
  const type = Object.hasOwn(types, flag) ? types[flag]! : takesLinks && flag === '2' ? 'link' : null;
  if (type === null) {
    const what = Object.hasOwn(refused, flag) ? refused[flag]! : `an entry of the type ${JSON.stringify(flag)}`;
    throw invalid(`${shown(path)} is ${what}; only files and folders are taken`);
  }
  const isExecutable = (octal(block, 100, 8) & 0o100) !== 0;
  return { path, type, bytes: octal(block, 124, 12), target: text(block, 157, 100), isExecutable };
}

/**
 * The path in a pax record for the next entry, or its target (`linkpath`), or null.
 *
 * @throws {PlatformError} for a malformed record, or a record that sets another size.
 */
export function paxPath(record: Uint8Array, wanted: 'path' | 'linkpath' = 'path'): string | null {
  let path: string | null = null;
  for (let at = 0; at < record.length;) {
    const space = record.indexOf(0x20, at);
    const length = space < 0 || space - at > 6 ? NaN : Number(latin1(record, at, space - at));
    const end = at + length;
    if (!Number.isInteger(length) || end > record.length || end <= space + 1 || record[end - 1] !== 0x0a)
      throw invalid('a pax record is malformed');
    const line = decode(record.subarray(space + 1, end - 1));
    const equals = line.indexOf('=');
    if (equals < 1) throw invalid('a pax record is malformed');
    const key = line.slice(0, equals);
    if (key === 'size') throw invalid('a pax record overrides a size');
    if (key.startsWith('GNU.sparse')) throw invalid('it contains a sparse file');
    if (key === wanted) path = line.slice(equals + 1);
    at = end;
  }
  return path;
}

/** The path in a GNU entry for long names. */
export function longName(content: Uint8Array): string {
  const end = content.indexOf(0);
  return decode(end < 0 ? content : content.subarray(0, end));
}

/** Properties of an entry other than path and size. */
interface EntryKind {
  /** Target, if the entry is a symbolic link. */
  readonly target?: string;
  readonly isExecutable?: boolean;
}

/** An entry's header, preceded by a pax record if its path is too long. Reproducible bytes. */
export function tarHeader(path: string, bytes: number, { target = '', isExecutable = false }: EntryKind = {}): Buffer {
  const split = splitPath(path);
  const isLongTarget = Buffer.byteLength(target) > 100;
  const type = target === '' ? '0' : '2';
  const own = header({
    name: split?.name ?? 'long',
    prefix: split?.prefix ?? '',
    type,
    bytes,
    target: isLongTarget ? 'long' : target,
    isExecutable,
  });
  const lines = [
    ...(split === null ? [paxLine('path', path)] : []),
    ...(isLongTarget ? [paxLine('linkpath', target)] : []),
  ];
  if (lines.length === 0) return own;
  const record = Buffer.concat(lines);
  const filled = Buffer.alloc(Math.ceil(record.length / BLOCK_BYTES) * BLOCK_BYTES);
  record.copy(filled);
  const before = { name: 'pax', prefix: '', type: 'x', bytes: record.length, target: '', isExecutable: false };
  return Buffer.concat([header(before), filled, own]);
}

/** Number of zeros after `bytes` of content, up to the next block. */
export function padding(bytes: number): number {
  return (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
}

interface HeaderFields {
  readonly name: string;
  readonly prefix: string;
  readonly type: string;
  readonly bytes: number;
  readonly target: string;
  readonly isExecutable: boolean;
}

function header({ name, prefix, type, bytes, target, isExecutable }: HeaderFields): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.write(name, 0);
  block.write(isExecutable ? '0000755\0' : '0000644\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('        ', 148);
  block.write(type, 156);
  block.write(target, 157);
  block.write('ustar\0' + '00', 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

function splitPath(path: string): { name: string; prefix: string } | null {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100 && name !== '') return { name, prefix };
  }
  return null;
}

/** `<length of the whole line> <key>=<value>\n` */
function paxLine(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

function isZero(block: Uint8Array): boolean {
  return block.every((byte) => byte === 0);
}

/** A number in octal digits, terminated by a space or NUL. */
function octal(block: Uint8Array, at: number, length: number): number {
  if ((block[at]! & 0x80) !== 0) throw invalid('it declares a file of 8 GB or more');
  const digits = latin1(block, at, length)
    .replace(/[\0 ]+$/, '')
    .replace(/^ +/, '');
  if (!/^[0-7]*$/.test(digits)) throw invalid('a header contains a malformed number');
  return Number.parseInt(digits || '0', 8);
}

function text(block: Uint8Array, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return decode(end < 0 ? field : field.subarray(0, end));
}

function decode(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    throw invalid('a name is not UTF-8');
  }
}

function latin1(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}

/** Shortens a path for a message. */
export function shown(path: string): string {
  return JSON.stringify(path.length > 120 ? `${path.slice(0, 117)}...` : path);
}

export function invalid(what: string): PlatformError {
  return archiveError('archive_invalid', `The archive cannot be used: ${what}`);
}
