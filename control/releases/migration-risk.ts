// Finds statements of a migration that may break the previous deployment. Statements that only add are safe; all
// others are considered risky. Pure; a rough SQL parser that errs on the side of caution.

/** Statements that do not affect older code. */
const ADDING =
  /^(?:CREATE\s+(?:TEMP\s+|TEMPORARY\s+)?(?:VIRTUAL\s+)?TABLE|CREATE\s+INDEX|CREATE\s+VIEW|ALTER\s+TABLE\s+\S+\s+ADD(?!\s+CONSTRAINT)|INSERT|PRAGMA|SELECT|ANALYZE)\b/i;

/** An added column that older code does not fill in. */
const DEMANDING = /^ALTER\s+TABLE\s.*\bNOT\s+NULL\b(?!.*\bDEFAULT\b)/is;

/**
 * The first words of each statement that may break running code.
 *
 * @example riskyStatements('DROP TABLE a; CREATE TABLE b (c);') // ['DROP TABLE a']
 */
export function riskyStatements(sql: string): string[] {
  return statements(sql)
    .filter((statement) => !ADDING.test(statement) || DEMANDING.test(statement))
    .map((statement) => statement.replace(/\s+/g, ' ').slice(0, 80));
}

/** Splits at `;` outside of strings and comments. Bodies of triggers are split as well; triggers are risky anyway. */
function statements(sql: string): string[] {
  const found: string[] = [];
  let text = '';
  for (const [piece] of sql.matchAll(
    /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)|;|[^-/'"`[;]+|[\s\S]/g,
  )) {
    if (piece === ';') {
      found.push(text.trim());
      text = '';
    } else if (!piece.startsWith('--') && !piece.startsWith('/*')) text += piece;
    else text += ' ';
  }
  found.push(text.trim());
  return found.filter((statement) => statement !== '');
}
