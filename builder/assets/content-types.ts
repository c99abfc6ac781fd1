// Content types of static files by extension: the table of mrmime with corrections. Called by assets.ts. Pure.
import { mimes } from 'mrmime';

/** Types that the table lacks, or has in a form that browsers do not accept. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  '7z': 'application/x-7z-compressed',
  apng: 'image/png',
  cjs: 'text/javascript',
  cur: 'image/x-icon',
  eot: 'application/vnd.ms-fontobject',
  flac: 'audio/flac',
  ico: 'image/x-icon',
  jfif: 'image/jpeg',
  m3u8: 'application/vnd.apple.mpegurl',
  m4v: 'video/mp4',
  rsc: 'text/x-component',
  rtf: 'application/rtf',
  tar: 'application/x-tar',
  vcf: 'text/vcard',
  xsl: 'application/xslt+xml',
  xslt: 'application/xslt+xml',
};
/** Text types, which are sent as UTF-8. */
const TEXT = /^text\/|^application\/(?:json|xml)$|^(?!model\/).*\+(?:json|xml)$/;

/**
 * The content type of a file by its extension, case-insensitive.
 *
 * @example contentType('img/Logo.SVG') // 'image/svg+xml; charset=utf-8'
 * @example contentType('data.unknown') // 'application/octet-stream'
 */
export function contentType(path: string): string {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  const table = [DIFFERENCES, mimes].find((types) => Object.hasOwn(types, extension));
  const type = table?.[extension] ?? 'application/octet-stream';
  return TEXT.test(type) ? `${type}; charset=utf-8` : type;
}
