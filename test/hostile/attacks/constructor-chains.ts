// The constructor of every constructor, to reach a Function that sees the host.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `const seen = new Set(); const found = []; const look = (thing, depth) => { if (thing === null || (typeof thing !== 'object' && typeof thing !== 'function') || depth > 6 || seen.has(thing)) return; seen.add(thing); for (const key of ['constructor', '__proto__', 'prototype']) { let next; try { next = thing[key]; } catch { continue; } if (typeof next === 'function' && /^function|^class|native/.test(String(next))) { try { const host = Function('return typeof process + typeof require')(); if (host !== 'undefinedundefined') found.push(key + host); const theirs = next === Function ? Function : next.constructor; if (typeof theirs === 'function' && theirs !== Function) { const other = theirs('return this')(); if (other !== globalThis && other !== undefined) found.push('realm'); } } catch {} } look(next, depth + 1); } }; for (const thing of [env, ctx, request, fetch, console.log, crypto, crypto.subtle, setTimeout, Response, new Headers(), ctx.waitUntil, scheduler, caches, AbortController]) look(thing, 0); return new Response('found ' + found.length);`,
  ),
  attack: ({ get }) => get(),
  expect: '200 found 0',
} satisfies Attack;
