module.exports = need('stream').promises;
