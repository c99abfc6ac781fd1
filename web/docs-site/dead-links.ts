// Finds dead links, missing anchors and missing pictures in the built site. VitePress checks only pages, and not
// generated content. Called by build.ts.
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** For example `tutorial.html leads to /limits#cpu`. */
export function deadLinks(out: string): string[] {
  const pages = new Map<string, string>();
  for (const name of globSync('**/*.html', { cwd: out })) {
    const address = `/${name.split(path.sep).join('/')}`.replace(/\.html$/, '').replace(/\/index$/, '/');
    pages.set(address, readFileSync(path.join(out, name), 'utf8'));
  }
  const dead: string[] = [];
  for (const [address, html] of pages) {
    for (const [, picture] of html.matchAll(/<img\b[^>]*?\ssrc="(\/[^"]*)"/g))
      if (!existsSync(path.join(out, picture!))) dead.push(`${address} shows ${picture}`);
    for (const [, to] of html.matchAll(/<a\b[^>]*?\shref="([^":]*?)"/g)) {
      const url = new URL(to!.replaceAll('&amp;', '&'), `http://site${address}`);
      const target = pages.get(url.pathname);
      const id = decodeURIComponent(url.hash.slice(1));
      if (target === undefined || (id !== '' && !target.includes(` id="${id}"`)))
        dead.push(`${address} leads to ${to}`);
    }
  }
  return [...new Set(dead)];
}
