// Detects Node servers: they listen on a port and cannot run in an isolate. Pure. Called by detect.ts if no framework
// of table.ts matches.
import type { ProjectView } from './project-view.ts';

/** Server packages and their display names. */
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

/** `start` scripts that run a server. Preview commands of bundlers do not count. */
const SERVES = /(?:^|[\s;&|])(?:node|tsx|ts-node|bun|srvx|nest start|fastify start|strapi start|adonis)(?:\s|$)/;

/**
 * @param start the script that starts the built project, or null.
 * @returns the server's display name; null if none was detected.
 */
export function nodeServerOf({ packages, scripts }: ProjectView, start: string | null): string | null {
  if (start === null) return null;
  const [, name] = SERVERS.find(([packageName]) => packages.has(packageName)) ?? [];
  return name ?? (SERVES.test(scripts.get(start)!) ? 'Node.js' : null);
}

/** Whether a source is a worker: it exports a request handler. */
export function exportsHandler(source: string): boolean {
  return /\bexport\s+default\b|\bexport\s*\{[^}]{0,200}\bdefault\b|\bas\s+default\b|\bmodule\.exports\b|\bexports\.default\b|\baddEventListener\s*\(\s*['"`]fetch/.test(
    source,
  );
}

/** Whether a source listens on a port, as servers for Node, Bun and Deno do. */
export function listens(source: string): boolean {
  return /\.listen\s{0,9}\(|\b(?:Bun|Deno)\.serve\s{0,9}\(|^[ \t]{0,99}serve\s{0,9}\(/m.test(source);
}
