// core/s3/xml.ts: documents as storages send them, and what none should send.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childText, escapeXml, readXml, type XmlElement } from '#core/s3/xml.ts';
import { createSeededRandom, fuzzRounds, type SeededRandom } from '#test/setup/seeded-random.ts';

test('a document is a tree of names and texts', () => {
  const root = readXml(`<?xml version="1.0" encoding="UTF-8"?>
<List xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Contents a='1'><Key>a%20b</Key><ETag>&quot;x&quot;</ETag></Contents></List>`);
  assert.deepEqual(root, {
    name: 'List',
    text: '',
    children: [
      { name: 'Name', text: 'b', children: [] },
      {
        name: 'Contents',
        text: '',
        children: [
          { name: 'Key', text: 'a%20b', children: [] },
          { name: 'ETag', text: '"x"', children: [] },
        ],
      },
    ],
  });
  assert.equal(childText(root, 'Name'), 'b');
  assert.equal(childText(root, 'Contents'), '');
  assert.equal(childText(root, 'Other'), '');
});

test('references, sections, comments and white space are read as XML says', () => {
  assert.equal(readXml('<a>&lt;&#38;&#x1F600; <![CDATA[<b>&amp;]]><!-- c --></a>').text, '<&\u{1f600} <b>&amp;');
  assert.equal(readXml('  \n<?xml version="1.0"?>\n<a>x</a>\n').text, 'x');
  assert.equal(readXml('\ufeff<a>x</a>').text, 'x');
  assert.equal(readXml('<?xml version="1.0"?><a>&#x1;</a>').text, '\u0001');
});

const refused: Record<string, string> = {
  'no document': '',
  'no XML': 'Service unavailable',
  HTML: '<!doctype html><html><br></html>',
  'an end that is missing': '<List><Contents>',
  'ends in another order': '<a><b></a></b>',
  'two roots': '<a/><b/>',
  'an entity of its own': '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
  'entities of entities': `<!DOCTYPE a [<!ENTITY b "${'c'.repeat(1000)}">${[...'defgh'].map((name, at) => `<!ENTITY ${name} "${`&${'bdefg'[at]};`.repeat(20)}">`).join('')}]><a>&h;</a>`,
  'an entity of a file': '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
  'a character that is none': '<a>&#x110000;</a>',
  NUL: '<a>&#0;</a>',
  'a million levels': '<a>'.repeat(1_000_000),
  '17 levels': `${'<a>'.repeat(17)}${'</a>'.repeat(17)}`,
  '60,000 elements': `<a>${'<b/>'.repeat(60_000)}</a>`,
  'starts without ends': '<'.repeat(1_000_000),
  'entries without ends': '<Contents>'.repeat(200_000),
  'comments without ends': `<a>${'<!--'.repeat(500_000)}`,
  'sections without ends': `<a>${'<![CDATA['.repeat(200_000)}`,
  'a name of a megabyte without an end': `<${'a'.repeat(1_000_000)}`,
};
for (const [name, document] of Object.entries(refused)) {
  test(`refused: ${name}`, () => assert.throws(() => readXml(document), Error));
}

test('16 levels and 50,000 elements are read', () => {
  assert.equal(readXml(`${'<a>'.repeat(16)}${'</a>'.repeat(16)}`).name, 'a');
  assert.equal(readXml(`<a>${'<b/>'.repeat(49_999)}</a>`).children.length, 49_999);
});

function randomTree(random: SeededRandom, depth: number): XmlElement {
  const leaf = depth === 0 || random.below(3) === 0;
  return {
    name: random.pick(['Contents', 'Key', 'a', 'ETag', 'é-1']),
    text:
      leaf && random.below(5) > 0
        ? random.text(['x', '<', '&', '"', "'", '>', ' ', 'ä', '\u{1f600}', ']]>', '&amp;'], 6)
        : '',
    children: leaf ? [] : Array.from({ length: random.below(4) }, () => randomTree(random, depth - 1)),
  };
}

function written({ name, text, children }: XmlElement): string {
  return `<${name}>${escapeXml(text)}${children.map(written).join('')}</${name}>`;
}

test('what is written is read again, and of what is damaged nothing comes but a tree or an error', () => {
  const random = createSeededRandom();
  const pieces = [
    '<',
    '>',
    '&',
    ';',
    '/',
    '"',
    '!',
    '[',
    ']]>',
    '<![CDATA[',
    '<!--',
    '-->',
    '<?',
    '?>',
    '&#x',
    '&#1;',
    '<!DOCTYPE a [',
    'a',
    '',
  ];
  for (let round = 0; round < fuzzRounds(300); round++) {
    const tree = randomTree(random, 4);
    let document = written(tree);
    assert.deepEqual(readXml(document), tree, `FUZZ_SEED=${random.seed}`);
    for (let change = 0; change < 1 + random.below(4); change++) {
      const from = random.below(document.length + 1);
      document = document.slice(0, from) + random.pick(pieces) + document.slice(from + random.below(6));
    }
    try {
      assert.equal(typeof readXml(document).name, 'string', `FUZZ_SEED=${random.seed}`);
    } catch (error) {
      assert.ok(
        error instanceof Error && !(error instanceof TypeError) && !(error instanceof RangeError),
        `FUZZ_SEED=${random.seed} ${String(error)}`,
      );
    }
  }
});
