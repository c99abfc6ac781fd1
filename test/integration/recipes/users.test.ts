// Recipes with users, whose passwords are dear; and that no recipe is forgotten.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '#cli/tasks/tools/processes.ts';
import { recipes, testRecipes } from '#test/setup/recipe-cases.ts';

testRecipes(recipes.users);

test('each page of docs/recipes is followed by a test', () => {
  const pages = globSync('*.md', { cwd: path.join(root, 'docs/recipes') }).filter((name) => name !== 'README.md');
  assert.deepEqual(
    Object.values(recipes)
      .flat()
      .map((name) => `${name}.md`)
      .toSorted(),
    pages.toSorted(),
  );
});
