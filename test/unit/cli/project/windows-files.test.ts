// A project whose files were saved by editors of Windows: UTF-16 or a byte order mark, and CRLF.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containmentOf } from '#builder/project/containment.ts';
import { detect } from '#builder/frameworks/detect.ts';
import { filesIn } from '#builder/frameworks/project-files.ts';
import { readMigrations } from '#builder/build/migrations.ts';
import { lacksAgentFlag, loadProject } from '#cli/project/project.ts';
import { findLink } from '#cli/project/link.ts';
import type { Shell } from '#cli/terminal/shell.ts';
import { projectFolder } from '../../builder/project-folder.ts';

const files = {
  'platform.yaml': 'name: groesse # größe\r\nmain: src/index.ts\r\ndb: { DB: shop }\r\n',
  'package.json': '{\r\n  "dependencies": { "@platform-run/agent": "1", "vite": "7" }\r\n}\r\n',
  '.platform/project.json':
    '{\r\n "apiUrl": "http://localhost:4002", "projectId": "prj_a1", "organizationId": "org_a1" }\r\n',
  'migrations/0001.sql': "CREATE TABLE a (b TEXT DEFAULT 'é');\r\n",
};

for (const [encoding, bytesOf, mark] of [
  ['UTF-16', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le'), ''],
  ['UTF-8 with a byte order mark', (text: string) => Buffer.from(`\ufeff${text}`), '\ufeff'],
] as const) {
  test(`the configuration, package.json, link and migrations of a project are read as ${encoding}`, async (t) => {
    const root = projectFolder(
      t,
      Object.fromEntries(Object.entries(files).map(([name, text]) => [name, bytesOf(text)])),
    );
    const told: string[] = [];
    const shell = { cwd: root, err: (line: string) => told.push(line), paint: (_: string, text: string) => text };
    const project = loadProject(shell as unknown as Shell, root, null);
    assert.deepEqual([project.config.name, project.config.bindings.db], ['groesse', { DB: 'shop' }]);
    assert.equal(lacksAgentFlag(project), true);
    assert.equal(findLink(root)?.apiUrl, 'http://localhost:4002');
    assert.deepEqual(told, []);
    const [database] = await readMigrations(containmentOf(root), project.config.bindings.db);
    // SQLite skips the mark, and what was applied with it keeps its hash.
    assert.deepEqual(database?.files, [['0001.sql', mark + files['migrations/0001.sql']]]);
    assert.equal(detect(filesIn(root)).framework?.id, 'vite');
  });
}
