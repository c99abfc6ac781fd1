// builder/assets/asset-headers.ts: `_headers` as rules, and what is wrong with it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseHeaders } from '#builder/assets/asset-headers.ts';
import { formatBuildError, type BuildError } from '#builder/project/build-error.ts';

const parse = (text: string): unknown => parseHeaders({ text, file: 'public/_headers' });

function problemsOf(text: string): string[] {
  try {
    parse(text);
  } catch (error) {
    const first = error as BuildError;
    return [first, ...first.others].map(
      ({ place, message }) => `${place!.file}:${place!.line}:${place!.column} ${message}`,
    );
  }
  return [];
}

test('paths have headers to set and to remove, comments and empty lines mean nothing', () => {
  assert.deepEqual(
    parse(
      '\ufeff# first\r\n/*\r\n  X-Frame-Options: DENY\r\n  # between\n\tLink: </a.css>; rel=preload, </b.js>; rel=preload\n\n/a/:name\n  X-Name: is :name\n  ! X-Frame-Options\nhttps://:branch.example.dev/*\n  X-Robots-Tag: noindex\n/empty\n',
    ),
    [
      {
        pattern: '/*',
        set: [
          ['x-frame-options', 'DENY'],
          ['link', '</a.css>; rel=preload, </b.js>; rel=preload'],
        ],
        remove: [],
      },
      { pattern: '/a/:name', set: [['x-name', 'is :name']], remove: ['x-frame-options'] },
      { pattern: 'https://:branch.example.dev/*', set: [['x-robots-tag', 'noindex']], remove: [] },
    ],
  );
  assert.deepEqual(parse(''), []);
});

test('everything that means nothing is said with its line, all of it at once', () => {
  assert.deepEqual(
    problemsOf(
      'X-A: b\n/a b\n/*\n  nonsense\n  bad name: x\n  x-empty:\n  Content-Length: 3\n  ! vary\n  x: ☃\n/*/*\nhttp://a/\n',
    ),
    [
      'public/_headers:1:1 "X-A: b" stands before the first path: begin with a line such as /*',
      'public/_headers:2:1 "/a b" is not a valid pattern: it contains white space',
      'public/_headers:4:3 "nonsense" is neither a path nor a header: write Name: value, or ! Name',
      'public/_headers:5:3 "bad name" is not a header name',
      'public/_headers:6:3 The header x-empty has no value: to remove it, write ! x-empty',
      'public/_headers:7:3 The header content-length is set by the server and cannot be changed',
      'public/_headers:8:3 The header vary cannot be removed: caches would mix compressed and plain answers',
      'public/_headers:9:3 The value of x holds a character that headers cannot carry',
      'public/_headers:10:1 "/*/*" is not a valid pattern: it has * twice',
      'public/_headers:11:1 "http://a/" is not a valid pattern: write a path, or https://host/path without query',
    ],
  );
});

test('the bounds are 100 rules and 2000 characters a line', () => {
  const rules = (count: number): string => Array.from({ length: count }, (_, index) => `/${index}\n  a: b\n`).join('');
  assert.equal((parse(rules(100)) as unknown[]).length, 100);
  assert.deepEqual(problemsOf(rules(101)), ['public/_headers:201:1 There are more than 100 header rules']);
  assert.deepEqual(problemsOf(`/\n a: ${'x'.repeat(2000)}`), [
    'public/_headers:2:2 The line has 2003 characters; 2000 are allowed',
  ]);
});

test('a problem is printed with its place and the lines around it', () => {
  try {
    parse('/*\n  oops\n');
    assert.fail('nothing was thrown');
  } catch (error) {
    assert.equal(
      formatBuildError(error as BuildError),
      'public/_headers:2:3: "oops" is neither a path nor a header: write Name: value, or ! Name\n\n  1 | /*\n> 2 |   oops\n    |   ^\n  3 |\n',
    );
  }
});
