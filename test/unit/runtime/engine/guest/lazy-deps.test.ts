import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { lazyDeps } from '#runtime/engine/guest/lazy.ts';

const guest = join(import.meta.dirname, '../../../../../runtime/engine/guest');

test('whatever a lazy module imports of the rest of the guest is one of the parts that its script is given', () => {
  const missing: string[] = [];
  for (const folder of ['lazy', 'bindings', 'events']) {
    for (const name of readdirSync(join(guest, folder), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue;
      const file = join(guest, folder, name);
      for (const [, names, from] of readFileSync(file, 'utf8').matchAll(
        /^(?:import|export) \{([^}]*)\} from '(\.[^']*)';$/gm,
      )) {
        const path = relative(guest, resolve(dirname(file), from!));
        if (/^(\.\.|lazy\/|bindings\/|events\/)/.test(path)) continue;
        const deps: object = path === 'web/webidl.ts' ? lazyDeps.webidl : lazyDeps;
        for (const one of names!.split(',').map((part) => part.trim())) {
          if (one !== '' && !one.startsWith('type ') && !(one.split(' as ')[0]! in deps))
            missing.push(`${folder}/${name}: ${one} of ${path}`);
        }
      }
    }
  }
  assert.deepEqual(missing, []);
});
