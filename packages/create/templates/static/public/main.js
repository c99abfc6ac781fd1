// Asks the worker for its time.
const { time } = await (await fetch('/api/time')).json();
document.querySelector('#time').textContent = time;
