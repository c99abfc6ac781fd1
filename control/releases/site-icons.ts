// Reads the icons of live sites out of their artifacts, for lists of projects. Called by api/routes/project-icons.ts.
import { readArtifactIcon } from './artifact-icon.ts';

/** Number of icons that are read concurrently. */
const READ_TOGETHER = 16;
const CHARS_MAX = 1_000_000;

interface SiteIcon {
  readonly projectId: string;
  /** A `data:` URL. */
  readonly icon: string;
}

/** The icons of sites that have one, in the order of the sites, until they have 1 MB in total. */
export async function readSiteIcons(
  dataFolder: string,
  sites: readonly { readonly id: string; readonly artifact: string }[],
): Promise<SiteIcon[]> {
  const found: SiteIcon[] = [];
  let chars = 0;
  for (let at = 0; at < sites.length && chars < CHARS_MAX; at += READ_TOGETHER) {
    const part = sites.slice(at, at + READ_TOGETHER);
    const icons = await Promise.all(part.map(({ artifact }) => readArtifactIcon(dataFolder, artifact)));
    for (const [index, icon] of icons.entries()) {
      chars += icon?.length ?? 0;
      if (icon !== null && chars <= CHARS_MAX) found.push({ projectId: part[index]!.id, icon });
    }
  }
  return found;
}
