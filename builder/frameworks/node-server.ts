// Whether a project is a server for Node: one that listens by itself and cannot live in an isolate. Pure. Called by
// detect.ts where no framework of table.ts decides.
import type { ProjectView } from './project-view.ts';

/** Packages of servers, with what they are called. */
const SERVERS: readonly (readonly [packageName: string, name: string])[] = [
  ['@nestjs/core', 'NestJS'],
  ['@adonisjs/core', 'AdonisJS'],
  ['@strapi/strapi', 'Strapi'],
  ['@feathersjs/feathers', 'Feathers'],
  ['fastify', 'Fastify'],
  ['@hapi/hapi', 'hapi'],
  ['koa', 'Koa'],
  ['express', 'Express'],
  ['polka', 'Polka'],
  ['restify', 'restify'],
  ['@hono/node-server', 'Hono on Node'],
  ['@elysiajs/node', 'Elysia on Node'],
];

/** Scripts `start` that begin a server. Bundlers' previews do not count. */
const SERVES = /(?:^|[\s;&|])(?:node|tsx|ts-node|bun|srvx|nest start|fastify start|strapi start|adonis)(?:\s|$)/;

/**
 * @param start the script that starts what was built; null: there is none.
 * @returns what the server is called; null where nothing shows one.
 */
export function nodeServerOf({ packages, scripts }: ProjectView, start: string | null): string | null {
  if (start === null) return null;
  const [, name] = SERVERS.find(([packageName]) => packages.has(packageName)) ?? [];
  return name ?? (SERVES.test(scripts.get(start)!) ? 'Node.js' : null);
}

/** Whether a source is a worker: it exports what answers requests. */
export function exportsHandler(source: string): boolean {
  return /\bexport\s+default\b|\bexport\s*\{[^}]{0,200}\bdefault\b|\bas\s+default\b|\bmodule\.exports\b|\bexports\.default\b|\baddEventListener\s*\(\s*['"`]fetch/.test(
    source,
  );
}

/** Whether a source opens a port by itself, as servers for Node, Bun and Deno do. */
export function listens(source: string): boolean {
  return /\.listen\s{0,9}\(|\b(?:Bun|Deno)\.serve\s{0,9}\(|^[ \t]{0,99}serve\s{0,9}\(/m.test(source);
}
