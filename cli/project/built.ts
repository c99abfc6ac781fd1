// Formats a built artifact in one line. Used by the commands that build.
import { formatBytes } from '../terminal/table.ts';
import type { Built } from './project.ts';

/** An artifact in one line: id, files, size, time. */
export function describe({ id, files, bytes, buildMs }: Built): string {
  return `${id.slice(0, 12)}: ${files} ${files === 1 ? 'file' : 'files'}, ${formatBytes(bytes)}, in ${Math.round(buildMs)} ms`;
}
