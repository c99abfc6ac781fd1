// The values of `format` that json-keywords.ts validates; others are annotations, as in the draft. The regular
// expressions have no nested repeats, so that no text takes long.

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(text: string): boolean {
  const found = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (found === null) return false;
  const [year, month, day] = found.slice(1).map(Number) as [number, number, number];
  if (month < 1 || month > 12 || day < 1 || day > DAYS[month - 1]!) return false;
  return !(month === 2 && day === 29) || (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0));
}

function isTime(text: string): boolean {
  const found = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[zZ]|[+-](\d\d):(\d\d))$/.exec(text);
  if (found === null) return false;
  const [hour, minute, second, zoneHour, zoneMinute] = found.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  return hour < 24 && minute < 60 && second <= 60 && zoneHour < 24 && zoneMinute < 60;
}

function isIpv4(text: string): boolean {
  return /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text);
}

function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2 || !/^[\da-fA-F:.]+$/.test(text)) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  let count = 0;
  for (const [at, group] of groups.entries()) {
    if (at === groups.length - 1 && group.includes('.')) {
      if (!isIpv4(group)) return false;
      count += 2;
    } else if (/^[\da-fA-F]{1,4}$/.test(group)) count++;
    else return false;
  }
  return halves.length === 2 ? count < 8 : count === 8;
}

/** Whether a text matches a format. */
export const formats: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: isTime,
  'date-time': (text) => /^.{10}[tT ]/.test(text) && isDate(text.slice(0, 10)) && isTime(text.slice(11)),
  email: (text) =>
    text.length <= 320 &&
    /^[^\s@"(),:;<>[\\\]]+@[a-zA-Z\d](?:[a-zA-Z\d.-]*[a-zA-Z\d])?$/.test(text) &&
    !/\.\.|^\.|\.@/.test(text),
  hostname: (text) =>
    text.length <= 253 && text.split('.').every((label) => /^(?!-)[a-zA-Z\d-]{1,63}(?<!-)$/.test(label)),
  ipv4: isIpv4,
  ipv6: isIpv6,
  uri: (text) => /^[a-zA-Z][a-zA-Z\d+.-]*:[^\s<>"{}|\\^`]*$/.test(text),
  url: (text) => URL.canParse(text),
  uuid: (text) => /^[\da-fA-F]{8}-[\da-fA-F]{4}-[\da-fA-F]{4}-[\da-fA-F]{4}-[\da-fA-F]{12}$/.test(text),
};
