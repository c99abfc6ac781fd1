// Reads the icon of a site out of its artifact, for lists of projects in the dashboard. The files are untrusted: bytes,
// types and paths are checked, and the icon is image data, which runs no scripts.
import { open, realpath } from 'node:fs/promises';
import path from 'node:path';
import { isArtifactId } from '#core/names.ts';
import { assetPathProblem } from '#artifacts/archive/artifact-path.ts';

/** Larger icons are not shown. */
const ICON_BYTES_MAX = 32_768;
/** Part of `index.html` in which the link to the icon is searched. */
const HEAD_BYTES_MAX = 65_536;
/** Maximum number of links that are examined. */
const LINKS_MAX = 50;
const usualNames = ['favicon.svg', 'favicon.ico', 'favicon.png'] as const;

/**
 * The icon as a `data:` URL of an image: the icon that `index.html` links to, or else `favicon.svg`, `.ico` or `.png`.
 *
 * @returns null if there is no such icon of at most 32 KB, or if the artifact was deleted.
 */
export async function readArtifactIcon(dataFolder: string, artifact: string): Promise<string | null> {
  if (!isArtifactId(artifact)) return null;
  const assets = await realpath(path.join(dataFolder, 'artifacts', artifact, 'assets')).catch(() => null);
  if (assets === null) return null;
  const page = await readAsset(assets, 'index.html', HEAD_BYTES_MAX);
  const linked = page === null ? [] : iconLinks(page.bytes.toString('latin1'));
  for (const name of [...linked, ...usualNames]) {
    const file = await readAsset(assets, name, ICON_BYTES_MAX);
    const type = file === null || file.isCut ? null : imageType(file.bytes);
    if (type !== null) return `data:${type};base64,${file!.bytes.toString('base64')}`;
  }
  return null;
}

/** The beginning of a file, or null. */
async function readAsset(
  assets: string,
  name: string,
  bytesMax: number,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean } | null> {
  const file = path.join(assets, name);
  try {
    // No link on the path may lead outside.
    if ((await realpath(file)) !== file) return null;
    await using handle = await open(file, 'r');
    if (!(await handle.stat()).isFile()) return null;
    const buffer = Buffer.alloc(bytesMax + 1);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return { bytes: buffer.subarray(0, Math.min(bytesRead, bytesMax)), isCut: bytesRead > bytesMax };
  } catch {
    return null;
  }
}

/** Paths of the icons that a page links to, on its own site. */
function iconLinks(html: string): string[] {
  const found: string[] = [];
  let links = 0;
  // Tags have no `<`, so that the time is linear in the size of the page.
  for (const [tag] of html.matchAll(/<link\b[^<>]{0,1000}>/gi)) {
    if (++links > LINKS_MAX) break;
    const rel = attribute(tag, 'rel').toLowerCase().split(/\s+/);
    if (!rel.includes('icon')) continue;
    const url = URL.parse(attribute(tag, 'href'), 'http://site.invalid/');
    if (url === null || url.host !== 'site.invalid') continue;
    const name = decoded(url.pathname.slice(1));
    if (name !== null && assetPathProblem(name) === null) found.push(name);
  }
  return found.slice(0, 3);
}

function attribute(tag: string, name: string): string {
  const [, double, single, bare] =
    new RegExp(`\\s${name}\\s{0,5}=\\s{0,5}(?:"([^"]*)"|'([^']*)'|([^\\s>"']+))`, 'i').exec(tag) ?? [];
  return double ?? single ?? bare ?? '';
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Detects the image type from the content, since names and declared types may be wrong. */
function imageType(bytes: Buffer): string | null {
  const begins = (hex: string, at = 0): boolean => bytes.subarray(at, at + hex.length / 2).toString('hex') === hex;
  if (begins('89504e470d0a1a0a')) return 'image/png';
  if (begins('00000100')) return 'image/x-icon';
  if (begins('ffd8ff')) return 'image/jpeg';
  if (begins('47494638')) return 'image/gif';
  if (begins('52494646') && begins('57454250', 8)) return 'image/webp';
  return /^\s*<(?:svg|\?xml|!--|!doctype svg)/i.test(bytes.toString('latin1')) && bytes.includes('<svg')
    ? 'image/svg+xml'
    : null;
}
