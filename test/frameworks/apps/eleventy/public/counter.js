const button = document.querySelector('button');
let count = 0;
button.addEventListener('click', () => {
  button.textContent = `clicked ${++count} times`;
});
