// The Node that commands of a build sandbox get, by what the project asks for and what the sandbox says it has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findNode } from '#builder/steps/build-sandbox/nodes.ts';

const IMAGE = `24.21.0 /opt/node/24/bin/node
22.23.3 /opt/node/22/bin/node
24.21.0 /usr/local/bin/node`;

async function given(text: string | null, said = IMAGE): Promise<{ folders: string[]; lines: string[] }> {
  const lines: string[] = [];
  const asked = text === null ? null : { text, from: '.nvmrc' };
  const machine = { script: async () => said };
  const folders = await findNode(asked, machine, (level, line) => void lines.push(`${level} ${line}`));
  return { folders, lines };
}

test('a version of the image is put before the one that commands find anyway', async () => {
  assert.deepEqual(await given('22'), {
    folders: ['/opt/node/22/bin'],
    lines: ['info Node 22.23.3 (.nvmrc asks for 22)'],
  });
  assert.deepEqual(await given('>=20'), { folders: [], lines: ['info Node 24.21.0 (.nvmrc asks for >=20)'] });
  assert.deepEqual(await given(null), { folders: [], lines: [] });
});

test('a version that the image lacks is said, with what there is and what is used', async () => {
  assert.deepEqual(await given('20'), {
    folders: [],
    lines: ['warn .nvmrc asks for Node 20; the build sandbox has 24.21.0 and 22.23.3: 24.21.0 is used'],
  });
  assert.deepEqual(await given('v22.1.0'), {
    folders: ['/opt/node/22/bin'],
    lines: ['warn .nvmrc asks for Node v22.1.0; the build sandbox has 24.21.0 and 22.23.3: 22.23.3 is used'],
  });
  assert.deepEqual(await given('22', ''), {
    folders: [],
    lines: ['warn .nvmrc asks for Node 22, and the build sandbox has none'],
  });
});

test('what a hostile sandbox says of itself is no folder of PATH and no line of the log', async () => {
  const said = ['22.1.0 /tmp/a:b/node', '22.1.0 relative/node', '22.1.0\u001b[31m /x/node', 'x'.repeat(1e6)].join('\n');
  assert.deepEqual(await given('22', `${said}\n24.21.0 /usr/local/bin/node`), {
    folders: [],
    lines: ['warn .nvmrc asks for Node 22; the build sandbox has 24.21.0: 24.21.0 is used'],
  });
});
