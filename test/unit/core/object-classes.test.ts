// Renamed and deleted classes of durable objects: what platform.yaml may say, and which name stands for which.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstNameOf, nameNowOf } from '#core/bindings/object-classes.ts';
import { parseProjectConfig } from '#core/config/project-config.ts';

const parsed = (yaml: string) => parseProjectConfig(yaml, { file: 'platform.yaml' });
const told = (yaml: string): string[] => parsed(yaml).problems.map(({ message }) => message);

test('a class has the objects of its first name, through all of its names', () => {
  const classes = parsed(
    'object: { ROOM: Den, DESK: { class: Desk, project: office } }\n' +
      'object_classes: { renamed: { Room: Hall, Hall: Den, Old: Older }, deleted: [Older, Draft] }\n',
  ).config!.objectClasses!;
  assert.deepEqual(classes, { renamed: { Room: 'Hall', Hall: 'Den', Old: 'Older' }, deleted: ['Older', 'Draft'] });
  assert.deepEqual(
    ['Den', 'Hall', 'Room', 'Older', 'Other'].map((name) => firstNameOf(classes, name)),
    ['Room', 'Room', 'Room', 'Old', 'Other'],
  );
  assert.deepEqual(
    ['Den', 'Hall', 'Room', 'Old', 'constructor'].map((name) => nameNowOf(classes, name)),
    ['Den', 'Den', 'Den', 'Older', 'constructor'],
  );
  // Never from platform.yaml, but a circle must end.
  const circle = { renamed: { A: 'B', B: 'A' } };
  assert.deepEqual([firstNameOf(circle, 'A').length, nameNowOf(circle, 'A').length], [1, 1]);
});

test('classes that contradict each other are refused by name', () => {
  const cases: readonly (readonly [yaml: string, message: string])[] = [
    ['renamed: { Room: Hall }', 'The class Room is renamed to Hall, but no binding of "object" has that'],
    ['renamed: { Desk: Hall }', 'The class Desk is renamed to Hall, but no binding of "object" has that'],
    ['renamed: { Room: Room }', 'The class Room is renamed to itself: a name cannot be used again'],
    ['renamed: { Old: Den, Older: Den }', 'The classes Old and Older are both renamed to Den'],
    ['renamed: { Den: Hall }', 'The class Den is renamed to Hall, but a binding of "object" has it'],
    ['deleted: [Den]', 'The class Den is deleted, but a binding of "object" has it'],
    ['deleted: [Room], renamed: { Room: Den }', 'The class Room is deleted, but renamed to Den'],
    ['deleted: [Room, Hall, Room]', 'The class Room is deleted twice'],
    [
      'deleted: [1x]',
      'object_classes.deleted[0] must be the name of a class that the worker exports, such as ChatRoom, not "1x"',
    ],
    ['renamed: { __proto__: Den }', '"__proto__" in object_classes.renamed must be the name of a class'],
    ['transferred: { Room: { project: rooms } }', 'object_classes.transferred.Room needs the key "class"'],
    [
      'transferred: { Den: { project: rooms, class: Room } }',
      'The class Den is transferred, but a binding of "object" has it',
    ],
    [
      'renamed: { Room: Den }, transferred: { Room: { project: rooms, class: Room } }',
      'The class Room is transferred, but renamed to Den',
    ],
    [
      'deleted: [Room], transferred: { Room: { project: rooms, class: Room } }',
      'The class Room is transferred and deleted',
    ],
    [
      'received: { Room: { project: rooms, class: Hall } }',
      'The class Room receives the objects of rooms/Hall, but no binding of "object" has it',
    ],
    [
      'renamed: { Room: Den }, received: { Room: { project: rooms, class: A }, Den: { project: rooms, class: B } }',
      'The classes Room and Den are the same, and both receive objects',
    ],
    [
      'received: { Room: { project: rooms, class: Hall } }, transferred: { Room: { project: shop, class: Hall } }',
      'The class Room is received and transferred: let rooms transfer it to its new project',
    ],
    ['moved: [Room]', 'Unknown key "moved" in object_classes'],
  ];
  for (const [yaml, message] of cases)
    assert.deepEqual(
      told(`object: { ROOM: Den, DESK: { class: Desk, project: office } }\nobject_classes: { ${yaml} }\n`),
      [message],
      yaml,
    );
  assert.deepEqual(told('object: { ROOM: A }\nobject_classes: { renamed: { B: C, C: B } }\n'), [
    'The class B is renamed to itself: a name cannot be used again',
    'The class C is renamed to itself: a name cannot be used again',
  ]);
  const names = Array.from({ length: 101 }, (_, at) => `C${at}: C${at + 1}`);
  assert.deepEqual(told(`object: { ROOM: C101 }\nobject_classes: { renamed: { ${names.join(', ')} } }\n`), [
    'object_classes.renamed has more than 100 classes',
  ]);
  assert.match(parsed('migrations: []\n').problems[0]!.hint!, /Did you mean "object_classes"\?/);
});
