// Recipes that answer requests. What they assert is what their pages show.
import { recipes, testRecipes } from '#test/setup/recipe-cases.ts';

testRecipes(recipes.requests);
