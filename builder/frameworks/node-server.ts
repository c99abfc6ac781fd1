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
const SERVES = /(?:^|[\s;&|])(?:node|tsx|ts-node|bun|nest start|fastify start|strapi start|adonis)(?:\s|$)/;

/** @returns what the server is called, and what starts it; null where nothing shows one. */
export function nodeServerOf(project: ProjectView): { readonly name: string; readonly start: string | null } | null {
  const start = project.scripts.get('start') ?? null;
  const [, name] = SERVERS.find(([packageName]) => project.packages.has(packageName)) ?? [];
  if (start !== null && (name !== undefined || SERVES.test(start))) return { name: name ?? 'Node.js', start };
  return null;
}

/** Whether a source is a worker: it exports what answers requests. */
export function exportsHandler(source: string): boolean {
  return /\bexport\s+default\b|\bas\s+default\b|\bmodule\.exports\b|\bexports\.default\b|\baddEventListener\s*\(\s*['"`]fetch/.test(
    source,
  );
}
