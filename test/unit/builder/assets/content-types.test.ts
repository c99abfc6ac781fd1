// builder/assets/content-types.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentType } from '#builder/assets/content-types.ts';

for (const [path, type] of [
  ['index.html', 'text/html; charset=utf-8'],
  ['a/b.min.JS', 'text/javascript; charset=utf-8'],
  ['app.js.map', 'application/json; charset=utf-8'],
  ['x.svg', 'image/svg+xml; charset=utf-8'],
  ['x.woff2', 'font/woff2'],
  ['x.wasm', 'application/wasm'],
  ['site.webmanifest', 'application/manifest+json; charset=utf-8'],
  ['x.cjs', 'text/javascript; charset=utf-8'],
  ['x.xml', 'text/xml; charset=utf-8'],
  ['favicon.ico', 'image/x-icon'],
  ['x.m3u8', 'application/vnd.apple.mpegurl'],
  ['x.gltf', 'model/gltf+json'],
  ['x.geojson', 'application/geo+json; charset=utf-8'],
  ['x.constructor', 'application/octet-stream'],
  ['x.__proto__', 'application/octet-stream'],
  ['no-extension', 'application/octet-stream'],
  ['folder.html/file', 'application/octet-stream'],
  ['x.unknown', 'application/octet-stream'],
] as const) {
  test(`${path} is ${type}`, () => assert.equal(contentType(path), type));
}
