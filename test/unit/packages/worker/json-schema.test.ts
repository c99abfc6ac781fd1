// The JSON Schema validator of packages/worker, keyword by keyword, and beside TypeBox's own on random values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Check } from 'typebox/value';
import { fits, type Issue } from '#packages/worker/json-check.ts';
import type { JsonSchema } from '#packages/worker/json-document.ts';
import { compileJsonSchema } from '#packages/worker/json-schema.ts';
import { declaredPart } from '#packages/worker/json-shape.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

function check(schema: JsonSchema, value: unknown): string[] {
  const issues: Issue[] = [];
  compileJsonSchema(schema)(value, issues);
  return issues.map(({ path, message }) => `${path.join('.')} ${message}`.trim());
}

const cases: [schema: JsonSchema, good: unknown[], bad: unknown[]][] = [
  [{ type: 'string' }, ['', 'a'], [1, null, [], {}]],
  [{ type: 'integer' }, [0, -1, 1e3, 1.0], [1.5, '1', NaN]],
  [{ type: 'number' }, [1.5], [Infinity, '1', null]],
  [{ type: ['string', 'null'] }, ['a', null], [1]],
  [{ type: 'object' }, [{}], [[], null, 'x']],
  [{ const: { a: [1] } }, [{ a: [1] }], [{ a: [2] }, null]],
  [{ enum: [1, 'a', null] }, [1, 'a', null], ['1', undefined]],
  [{ minLength: 2, maxLength: 3 }, ['ab', '\u{1f600}\u{1f600}\u{1f600}', 5], ['a', 'abcd', '\u{1f600}']],
  [{ pattern: '^a+$' }, ['aa'], ['b', '']],
  [{ minimum: 1, exclusiveMaximum: 3 }, [1, 2.9, 'x'], [0.9, 3]],
  [{ maximum: 1, exclusiveMinimum: 0 }, [1, 0.1], [0, 1.1]],
  [{ multipleOf: 0.1 }, [0.3, 1.1, 0], [0.35]],
  [{ items: { type: 'number' }, minItems: 1, maxItems: 2 }, [[1], [1, 2], 'x'], [[], [1, 2, 3], ['a']]],
  [{ prefixItems: [{ type: 'string' }], items: false }, [['a'], []], [[1], ['a', 'b']]],
  [
    { uniqueItems: true },
    [[1, '1', { a: 1 }]],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  [{ contains: { type: 'number' }, minContains: 2, maxContains: 3 }, [[1, 2, 'a']], [[1], [1, 2, 3, 4]]],
  [
    { properties: { a: { type: 'number' } }, required: ['b'] },
    [{ b: 1 }, { a: 1, b: 2, c: 3 }],
    [{ a: 1 }, { a: 'x', b: 1 }],
  ],
  [{ properties: { a: {} }, additionalProperties: false }, [{ a: 1 }, {}], [{ b: 1 }]],
  [
    { patternProperties: { '^x-': { type: 'string' } }, additionalProperties: { type: 'number' } },
    [{ 'x-a': 'b', n: 1 }],
    [{ 'x-a': 1 }, { n: 'a' }],
  ],
  [
    { propertyNames: { maxLength: 2 }, minProperties: 1, maxProperties: 2 },
    [{ ab: 1 }],
    [{ abc: 1 }, {}, { a: 1, b: 2, c: 3 }],
  ],
  [{ dependentRequired: { a: ['b'] } }, [{ b: 1 }, { a: 1, b: 2 }], [{ a: 1 }]],
  [{ dependentSchemas: { a: { required: ['b'] } } }, [{ a: 1, b: 1 }], [{ a: 1 }]],
  [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, ['a', 1], [null]],
  [{ oneOf: [{ type: 'number' }, { minimum: 5, type: 'number' }] }, [1], [6, 'a']],
  [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
  [{ not: { type: 'string' } }, [1], ['a']],
  [
    {
      if: { properties: { k: { const: 'a' } }, required: ['k'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword
      then: { required: ['x'] },
      else: { required: ['y'] },
    },
    [{ k: 'a', x: 1 }, { y: 1 }],
    [{ k: 'a' }, {}],
  ],
  [
    { $ref: '#/$defs/T', $defs: { T: { properties: { kids: { items: { $ref: '#/$defs/T' } } }, required: ['n'] } } },
    [{ n: 1, kids: [{ n: 2 }] }],
    [{ n: 1, kids: [{}] }],
  ],
  [
    { $id: 'Tree', properties: { kid: { $ref: 'Tree' } }, required: ['n'] },
    [{ n: 1, kid: { n: 1 } }],
    [{ n: 1, kid: {} }],
  ],
  [{ format: 'date' }, ['2024-02-29', 5], ['2023-02-29', '2024-13-01', '24-01-01']],
  [
    { format: 'date-time' },
    ['2024-02-29T10:00:00Z', '2024-02-29T10:00:00.5+01:00'],
    ['2024-02-29', '2024-02-29T25:00:00Z', '2024-02-29T10:00:00'],
  ],
  [{ format: 'email' }, ['ada@example.org', 'a.b+c@d.e'], ['ada', 'a@', '@b.c', 'a b@c.d', 'a..b@c.d']],
  [{ format: 'uuid' }, ['3fa85f64-5717-4562-b3fc-2c963f66afa6'], ['3fa85f64']],
  [{ format: 'ipv4' }, ['127.0.0.1'], ['256.0.0.1', '1.2.3', '1.2.3.4.']],
  [{ format: 'ipv6' }, ['::1', '1:2:3:4:5:6:7:8', '::ffff:1.2.3.4'], ['1:2', ':::', '1::2::3', 'g::']],
  [{ format: 'uri' }, ['https://a.b/c?d', 'mailto:a@b'], ['a b', '/path', 'https://a b']],
  [{ format: 'hostname' }, ['a.example'], ['-a.b', 'a_b']],
  [{ format: 'of-our-own' }, ['anything'], []],
];

for (const [schema, good, bad] of cases) {
  test(`${JSON.stringify(schema)} tells good from bad`, () => {
    for (const value of good) assert.deepEqual(check(schema, value), [], JSON.stringify(value));
    for (const value of bad) assert.notEqual(check(schema, value).length, 0, JSON.stringify(value));
  });
}

test('messages say where and what, never the value', () => {
  const schema = {
    type: 'object',
    properties: { list: { type: 'array', items: { type: 'integer' } }, name: { type: 'string' } },
    required: ['name', 'id'],
  };
  assert.deepEqual(check(schema, { list: [1, 'secret'], name: null }), [
    'id is missing',
    'list.1 is not an integer',
    'name is not a string',
  ]);
  assert.deepEqual(check({ anyOf: [{ properties: { a: { type: 'number' } } }, { type: 'null' }] }, { a: 'x' }), [
    'a is not a number',
  ]);
  assert.deepEqual(
    check({ properties: { size: { anyOf: [{ enum: ['small', 'large'] }, { type: 'null' }] } } }, { size: 'x' }),
    ['size is not one of "small", "large", and is not null'],
  );
});

test('there are never more than twenty issues', () => {
  assert.equal(
    check(
      { items: { type: 'string' } },
      Array.from({ length: 1000 }, () => 1),
    ).length,
    20,
  );
});

test('what cannot be checked is refused when it is compiled', () => {
  assert.throws(() => compileJsonSchema({ unevaluatedProperties: false }), /unevaluatedProperties is not supported/);
  assert.throws(() => compileJsonSchema({ properties: { a: { $ref: '#/$defs/Missing' } } }), /does not define/);
  assert.throws(() => compileJsonSchema({ type: 'text' }), /type text is not supported/);
  assert.throws(() => compileJsonSchema({ type: 'string', nullable: true }), /nullable/);
});

test('a value that goes deep, or a reference that goes round, ends', () => {
  const schema = {
    $id: 'T',
    anyOf: [{ type: 'null' }, { type: 'object', properties: { next: { $ref: 'T' } }, required: ['next'] }],
  };
  let value: unknown = null;
  for (let depth = 0; depth < 500; depth++) value = { next: value };
  assert.deepEqual(check(schema, value), []);
});

test('undeclared members go at every depth, through references and the branch that fits', () => {
  const schema = {
    type: 'object',
    properties: {
      kind: {},
      open: { type: 'object' },
      map: { type: 'object', additionalProperties: { type: 'object', properties: { a: {} } } },
      tuple: { type: 'array', prefixItems: [{ type: 'object', properties: { a: {} } }] },
      self: { $ref: '#' },
    },
    oneOf: [
      { properties: { kind: { const: 'a' }, only: {} }, required: ['only'] },
      { properties: { kind: { const: 'b' }, other: {} }, required: ['other'] },
    ],
  };
  const value = {
    kind: 'a',
    only: 1,
    other: 2,
    secret: 3,
    open: { any: 1 },
    map: { x: { a: 1, secret: 1 } },
    tuple: [{ a: 1, secret: 1 }, { free: 1 }],
    self: { kind: 'b', other: 1, only: 2, secret: 1 },
  };
  assert.deepEqual(declaredPart(schema)(value), {
    kind: 'a',
    only: 1,
    open: { any: 1 },
    map: { x: { a: 1 } },
    tuple: [{ a: 1 }, { free: 1 }],
    self: { kind: 'b', other: 1 },
  });
});

test('random schemas and values are judged as TypeBox judges them', () => {
  const random = createSeededRandom();
  const makeSchema = (depth: number): JsonSchema => {
    const leaves: JsonSchema[] = [
      { type: 'string', minLength: random.below(3) },
      { type: 'integer', minimum: random.below(3) },
      { type: 'boolean' },
      { type: 'null' },
      { const: random.below(3) },
      { enum: ['a', 1] },
      {},
    ];
    if (depth === 0) return random.pick(leaves);
    return random.pick<() => JsonSchema>([
      () => random.pick(leaves),
      () => ({ type: 'array', items: makeSchema(depth - 1), minItems: random.below(2) }),
      () => ({
        type: 'object',
        properties: { a: makeSchema(depth - 1), b: makeSchema(depth - 1) },
        required: random.below(2) === 0 ? ['a'] : [],
      }),
      () => ({
        type: 'object',
        properties: { a: makeSchema(depth - 1) },
        additionalProperties: random.below(2) === 0 ? false : makeSchema(depth - 1),
      }),
      () => ({ anyOf: [makeSchema(depth - 1), makeSchema(depth - 1)] }),
      () => ({ oneOf: [makeSchema(depth - 1), makeSchema(depth - 1)] }),
      () => ({ allOf: [makeSchema(depth - 1), makeSchema(depth - 1)] }),
      () => ({ not: makeSchema(depth - 1) }),
    ])();
  };
  const makeValue = (depth: number): unknown => {
    const leaves: unknown[] = ['', 'a', 'ab', 0, 1, 2, 1.5, true, null];
    if (depth === 0) return random.pick(leaves);
    return random.pick<() => unknown>([
      () => random.pick(leaves),
      () => Array.from({ length: random.below(3) }, () => makeValue(depth - 1)),
      () => ({ a: makeValue(depth - 1) }),
      () => ({ a: makeValue(depth - 1), b: makeValue(depth - 1) }),
      () => ({ c: makeValue(depth - 1) }),
    ])();
  };
  for (let round = 0; round < 400; round++) {
    const schema = makeSchema(3);
    const compiled = compileJsonSchema(schema);
    for (let attempt = 0; attempt < 10; attempt++) {
      const value = makeValue(3);
      assert.equal(
        fits(compiled, value),
        Check(schema as never, value),
        `${JSON.stringify(schema)} ${JSON.stringify(value)} seed ${random.seed}`,
      );
    }
  }
});
