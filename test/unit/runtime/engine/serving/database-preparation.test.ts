// Databases that the migrator prepares: an engine looks whether it has, and changes nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preparedByMigrator } from '#runtime/engine/serving/database-preparation.ts';

const place = { namespace: 'shop', resource: 'main' };

test('a deployment waits for migrations and copies that the migrator has not made, and applies none', async () => {
  const asked: string[] = [];
  const databases = preparedByMigrator({
    migrations({ resource }, files) {
      asked.push(resource);
      const pending = files.map(([name]) => name).filter((name) => name !== '1.sql');
      return Promise.resolve({ there: resource === 'main', pending });
    },
  });
  await databases.migrate(place, [['1.sql', '']]);
  await assert.rejects(
    databases.migrate(place, [
      ['1.sql', ''],
      ['2.sql', ''],
    ]),
    { message: 'the migrator has not applied 2.sql yet' },
  );
  await databases.branch(place, 'main', { unlessThere: true });
  await assert.rejects(databases.branch(place, 'main~~login', { unlessThere: true }), {
    message: 'the migrator has not made it yet',
  });
  assert.deepEqual(asked, ['main', 'main', 'main', 'main~~login']);
});
